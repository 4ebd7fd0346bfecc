/* SPDX-License-Identifier: BSD-3-Clause */
/* orphan.c: the job's state in a process that a rank forked. The child has a copy of the rank's
 * whole state, but it is not a rank, so its calls must not affect the job. */
#include "job/fatal.h"
#include "job/job.h"

#include "base/status.h"
#include "boot/boot.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "os/lock.h"
#include "progress/progress.h"

#include <stdlib.h>
#include <unistd.h>

void pen_job_refuse_orphan(pen_job *job, const char *call)
{
    pen_log_error(&job->log,
                  "%s: not in process %d, which is a child that rank %u forked, and no rank "
                  "itself; let the rank communicate, or start a program in the child",
                  call, (int)getpid(), job->rank);
    _exit(EXIT_FAILURE); /* buffers hold output that the parent will write */
}

static _Noreturn void refuse(pen_link *link)
{
    pen_job_refuse_orphan(link->host->ctx, "cannot communicate");
}

static pen_post orphan_post(pen_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                            pen_op *op)
{
    (void)to, (void)lane, (void)frame, (void)op;
    refuse(link);
}

static unsigned orphan_poll(pen_link *link, unsigned lanes, unsigned budget)
{
    (void)lanes, (void)budget;
    refuse(link);
}

static void orphan_close(pen_link *link) { (void)link; } /* it belongs to the parent */

static pen_status orphan_address(pen_link *link, void *blob)
{
    (void)blob;
    refuse(link);
}

static pen_status orphan_connect(pen_link *link, const void *blobs, pen_peer count)
{
    (void)blobs, (void)count;
    refuse(link);
}

static const pen_link_ops orphan_ops = {
    .close = orphan_close,
    .address = orphan_address,
    .connect = orphan_connect,
    .post = orphan_post,
    .poll = orphan_poll,
};

void pen_job_orphan(pen_job *job)
{
    pen_progress *progress = &job->progress;
    pen_boot_orphan(&job->boot);
    pen_progress_hide(progress); /* inline polls then call the link, too */
    for (uint32_t i = 0; i < progress->port_count; i++) {
        pen_port *port = &progress->ports[i];
        port->link->ops = &orphan_ops;
        port->link->express.first = NULL;
        pen_lock_init(&port->post_lock,
                      progress->concurrency); /* a different thread may have held it */
        pen_lock_init(&port->poll_lock, progress->concurrency);
    }
    if (progress->port_count != 0) {
        pen_job_use_express(job);
        pen_team_use_express(&job->world);
    }
}
