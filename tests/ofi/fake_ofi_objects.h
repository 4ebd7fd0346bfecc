/* SPDX-License-Identifier: BSD-3-Clause */
/* fake_ofi_objects.h: how the libfabric of fake_ofi.h makes and ends its objects, and how the
 * conduit finds it. It counts the objects. */
#ifndef PEN_TESTS_OFI_FAKE_OFI_OBJECTS_H
#define PEN_TESTS_OFI_FAKE_OFI_OBJECTS_H

#include "base/compiler.h"
#include "conduits/ofi/ofi.h"
#include "ofi/fake_ofi.h"

#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- objects -----------------------------------------------------------------------------------
 */

static int count_down(played *rank)
{
    assert_true(rank->objects > 0);
    rank->objects--;
    return 0;
}

static int close_av(struct fid *fid) { return count_down(pen_container_of(fid, played, av.fid)); }
static int close_sent(struct fid *fid)
{
    return count_down(pen_container_of(fid, played, sent.fid));
}
static int close_arrived(struct fid *fid)
{
    return count_down(pen_container_of(fid, played, arrived.fid));
}

/* Operations of the endpoint end with it. */
static int close_ep(struct fid *fid)
{
    played *rank = pen_container_of(fid, played, ep.fid);
    for (unsigned i = 0; i < fake.deed_count;) {
        deed *of = &fake.deeds[i];
        if (of->from != rank->number && of->to != rank->number) {
            i++;
            continue;
        }
        if (of->from == rank->number && !of->is_reported && of->source != NULL)
            assert_memory_equal(of->source, of->copy, of->len);
        free(of->copy);
        *of = fake.deeds[--fake.deed_count];
    }
    fake.rank[rank->number] = NULL;
    return count_down(rank);
}

static int close_domain(struct fid *fid)
{
    played *rank = of_domain(fid);
    assert_int_equal(rank->objects, 1); /* it is the last */
    return count_down(rank);
}

static int close_fabric(struct fid *fid)
{
    played *rank = pen_container_of(fid, played, fabric.fid);
    assert_int_equal(rank->objects, 0);
    free(rank);
    fake.fabrics--;
    return 0;
}

static int bind_ep(struct fid *fid, struct fid *to, uint64_t flags)
{
    (void)fid, (void)to, (void)flags;
    return 0;
}

static int control_ep(struct fid *fid, int command, void *arg)
{
    (void)fid, (void)arg;
    assert_int_equal(command, FI_ENABLE);
    return 0;
}

static int control_queue(struct fid *fid, int command, void *arg)
{
    (void)fid;
    assert_true(command == FI_GETWAIT && fake.manner.has_fd);
    *(int *)arg = 1000000; /* the conduit may not close it */
    return 0;
}

static int trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
    (void)fids, (void)count;
    const played *rank = pen_container_of(fabric, played, fabric);
    return rank->came_count == 0 ? 0 : -FI_EAGAIN;
}

static int get_name(struct fid *fid, void *out, size_t *len)
{
    const played *rank = pen_container_of(fid, played, ep.fid);
    memcpy(out, &rank->number, sizeof rank->number);
    *len = sizeof rank->number;
    return 0;
}

static int set_option(struct fid *fid, int level, int name, const void *value, size_t len)
{
    (void)fid, (void)value, (void)len;
    assert_true(level == FI_OPT_ENDPOINT && name == FI_OPT_MIN_MULTI_RECV);
    return 0;
}

static int insert(struct fid_av *av, const void *bytes, size_t count, fi_addr_t *out,
                  uint64_t flags, void *context)
{
    unsigned number;
    (void)av, (void)flags, (void)context;
    memcpy(&number, bytes, sizeof number);
    *out = (number + 1) * UINT64_C(7);
    return (int)count;
}

static struct fi_ops av_fid = { .size = sizeof av_fid, .close = close_av },
                     sent_fid = { .size = sizeof sent_fid, .close = close_sent },
                     arrived_fid = { .size = sizeof arrived_fid,
                                     .close = close_arrived,
                                     .control = control_queue },
                     ep_fid = { .size = sizeof ep_fid,
                                .close = close_ep,
                                .bind = bind_ep,
                                .control = control_ep },
                     domain_fid = { .size = sizeof domain_fid, .close = close_domain },
                     fabric_fid = { .size = sizeof fabric_fid, .close = close_fabric };
static struct fi_ops_av av_ops = { .size = sizeof av_ops, .insert = insert };
static struct fi_ops_ep ep_ops = { .size = sizeof ep_ops, .setopt = set_option };
static struct fi_ops_cm cm_ops = { .size = sizeof cm_ops, .getname = get_name };
static struct fi_ops_msg msg_ops = {
    .size = sizeof msg_ops, .send = play_send, .inject = play_inject, .recvmsg = play_recvmsg
};
static struct fi_ops_rma rma_ops = { .size = sizeof rma_ops,
                                     .read = play_read,
                                     .writemsg = play_write };

static int open_av(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **out,
                   void *context)
{
    (void)attr, (void)context;
    played *rank = of_domain(&domain->fid);
    rank->av = (struct fid_av){ .fid.ops = &av_fid, .ops = &av_ops };
    rank->objects++;
    *out = &rank->av;
    return 0;
}

static int open_cq(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out,
                   void *context)
{
    (void)context;
    played *rank = of_domain(&domain->fid);
    if (attr->wait_obj == FI_WAIT_FD && !fake.manner.has_fd)
        return -FI_ENOSYS;
    struct fid_cq *cq = rank->has_queue ? &rank->arrived : &rank->sent;
    *cq = (struct fid_cq){ .fid.ops = rank->has_queue ? &arrived_fid : &sent_fid,
                           .ops = rank->has_queue ? &arrived_ops : &sent_ops };
    rank->has_queue = true;
    rank->objects++;
    *out = cq;
    return 0;
}

static int open_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out,
                   void *context)
{
    (void)info, (void)context;
    played *rank = of_domain(&domain->fid);
    rank->ep = (struct fid_ep){
        .fid.ops = &ep_fid, .ops = &ep_ops, .cm = &cm_ops, .msg = &msg_ops, .rma = &rma_ops
    };
    rank->objects++;
    *out = &rank->ep;
    return 0;
}

static struct fi_ops_domain domain_ops = {
    .size = sizeof domain_ops, .av_open = open_av, .cq_open = open_cq, .endpoint = open_ep
};

static int open_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **out,
                       void *context)
{
    (void)info, (void)context;
    played *rank = pen_container_of(fabric, played, fabric);
    rank->domain = (struct fid_domain){ .fid = { .fclass = FI_CLASS_DOMAIN, .ops = &domain_fid },
                                        .ops = &domain_ops,
                                        .mr = &memory_ops };
    rank->objects++;
    *out = &rank->domain;
    return 0;
}

static struct fi_ops_fabric fabric_ops = { .size = sizeof fabric_ops,
                                           .domain = open_domain,
                                           .trywait = trywait };

static int open_fabric(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
    (void)attr, (void)context;
    played *rank = calloc(1, sizeof *rank);
    assert_true(rank != NULL && fake.rank_count < RANKS);
    rank->fabric = (struct fid_fabric){ .fid.ops = &fabric_fid, .ops = &fabric_ops };
    rank->number = fake.rank_count;
    fake.rank[fake.rank_count++] = rank;
    fake.fabrics++;
    *out = &rank->fabric;
    return 0;
}

/* In place of src/conduits/ofi/ofi_library.c. */
bool ofi_library_exists(const char *name) { return name[0] != '\0'; }

pen_status ofi_library_open(const pen_host *host, const char *name, ofi_library *out)
{
    (void)host, (void)name;
    *out = (ofi_library){ .version = version,
                          .error_text = error_text,
                          .open_fabric = open_fabric,
                          .dup_info = info_dup,
                          .free_info = info_free,
                          .get_info = get_info };
    return PEN_OK;
}

#endif
