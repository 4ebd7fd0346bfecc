# SPDX-License-Identifier: BSD-3-Clause
"""Jobs on four hosts (see network.py) with two ranks each: that they run, that hosts talk by the network
only, and every way to end. usage: hosts.py BUILD [unittest's options]"""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import network
from network import patience

BUILD = os.path.abspath(sys.argv.pop(1))
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PENSTOCK = os.path.join(BUILD, "bin", "penstock")
EXAMPLES = os.path.join(BUILD, "examples")
STUCK = os.path.join(BUILD, "tests", "launch", "stuck.seq")
TRACED = os.path.join(BUILD, "tests", "see", "see.traced")
CONFORMANCE = os.path.join(BUILD, "tests", "conformance")
HOSTS = 4
LIMIT_S = 600  # for a job that ends by itself


def setUpModule():
    global net
    net = network.Network(HOSTS)
    try:
        net.__enter__()
    except network.Missing as why:
        network.skip(why)


def tearDownModule():
    net.__exit__()


def command(*program, ranks=2 * HOSTS, options=(), hosts=None):
    places = ",".join(f"{name}:2" for name in (hosts or net.names))
    return net.inside("root", PENSTOCK, "run", "-n", str(ranks), "--hosts", places, *options, *program)


def run(*program, ranks=2 * HOSTS, options=(), hosts=None, stdin=None, **env):
    return subprocess.run(command(*program, ranks=ranks, options=options, hosts=hosts), capture_output=True,
                          text=True, input=stdin, env=net.environment(**env), timeout=patience(LIMIT_S), check=False,
                          stdin=None if stdin is not None else subprocess.DEVNULL)


def start(*program, **more):
    env = more.pop("env", {})
    return subprocess.Popen(command(*program, **more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=net.environment(**env), start_new_session=True)


def wait_until(condition, seconds):
    end = time.monotonic() + patience(seconds)
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def launcher_of(job):
    """ip execs the command, so it is the process we started."""
    return job.pid


def agents():
    """Host name -> pid of the agent there."""
    return {name: pid for name in net.names for pid in net.processes(name)
            if network.words_of(pid)[:2] == [PENSTOCK.encode(), b"agent"]}


def sleepers():
    """Pids of ranks that sleep, by host."""
    found = {name: [pid for pid in net.processes(name) if network.words_of(pid)[:1] == [b"sleep"]] for name in net.names}
    return {name: pids for name, pids in found.items() if pids}


class Case(unittest.TestCase):
    def setUp(self):
        self.job = None

    def tearDown(self):
        if self.job is not None and self.job.poll() is None:
            self.job.kill()
        if self.job is not None:
            self.job.communicate()
        clean = wait_until(lambda: not any(net.processes(name) for name in net.names), 50)
        self.assertTrue(clean, f"left over: {[(n, net.processes(n)) for n in net.names]}")

    def good(self, done):
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return done

    def asleep(self, env=None):
        """A job whose eight ranks sleep."""
        self.job = start("sleep", "600", env=env or {})
        all_there = wait_until(lambda: sum(len(p) for p in sleepers().values()) == 2 * HOSTS, 60)
        self.assertTrue(all_there, "the ranks did not start")
        return self.job

    def ends(self, job, status, pattern, seconds=50):
        out, err = job.communicate(timeout=patience(seconds))
        self.assertEqual(job.returncode, status, err + out)
        self.assertRegex(err, pattern)
        self.assertEqual(len(err.strip().splitlines()), 1, err)


class Running(Case):
    def test_ranks_say_hello_from_all_hosts(self):
        done = self.good(run(os.path.join(EXAMPLES, "hello")))
        self.assertEqual(sorted(done.stdout.splitlines()), [f"hello from rank {r} of 8" for r in range(8)])

    def test_randomaccess_is_verified_and_hosts_talk_by_the_network_only(self):
        done = self.good(run(os.path.join(EXAMPLES, "randomaccess"), "am", "-m", "14", options=["--stats"]))
        self.assertIn("randomaccess am: verified", done.stdout)
        shm, net_count = map(int, re.search(r"^  AMs +0 +(\d+) +(\d+)$", done.stdout, re.M).groups())
        # One of eight ranks is the neighbour: of eight destinations (ourselves among them) two are by memory.
        self.assertGreater(net_count, 2 * shm)
        self.assertGreater(shm, 0)

    def test_conduits_over_a_library_reach_other_hosts(self):
        """By TCP, with shared memory inside each host. One rank of eight is on the same host as the sender."""
        for conduit, variable, value in (("ucx", "PENSTOCK_UCX_TLS", "tcp,self"), ("ofi", "PENSTOCK_OFI_PROVIDER", "tcp"),
                                         ("ofi", "PENSTOCK_OFI_PROVIDER", "net")):
            if not os.path.exists(os.path.join(BUILD, "lib", "penstock", f"libpenstock-{conduit}.so")):
                continue
            with self.subTest(conduit=conduit, by=value):
                done = self.good(run(os.path.join(EXAMPLES, "randomaccess"), "am", "-m", "14",
                                     options=["--conduit", conduit, "--env", variable], **{variable: value}))
                self.assertIn("randomaccess am: verified", done.stdout)
                self.assertRegex(done.stdout, rf"(?m)^  conduit +{conduit}$")
                shm, net_count = map(int, re.search(r"^  AMs +0 +(\d+) +(\d+)$", done.stdout, re.M).groups())
                self.assertGreater(net_count, 2 * shm)
                self.assertGreater(shm, 0)

    def test_perf_measures_between_hosts(self):
        for hosts, one_host in (("h0,h1", False), ("h0", True)):
            done = self.good(subprocess.run(
                net.inside("root", PENSTOCK, "perf", "am", "-n", "2", "--hosts", hosts, "--quick", "--json", "--max", "64"),
                capture_output=True, text=True, env=net.environment(), timeout=patience(LIMIT_S), check=False))
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertGreater(len(lines), 1)
            self.assertTrue(all(line["one_host"] is one_host and line["ranks"] == 2 for line in lines), done.stdout)

    def test_a_program_that_was_built_for_smp_is_refused(self):
        folder = os.path.join(BUILD, "tests", "launch")
        done = run(os.path.join(folder, "built_for.smp"))
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(re.findall("cannot run this program over udp: built_for.c was built for the smp conduit, .*"
                                        "ranks 0 and 2 do not", done.stderr)), 1, done.stderr)
        for name, env in (("smp", {"PENSTOCK_ALLOW_OTHER_CONDUIT": "1"}), ("any", {}), ("udp", {})):
            done = self.good(run(os.path.join(folder, f"built_for.{name}"), "2", **env))
            self.assertEqual(len(re.findall(r"(?m)^rank \d of 8 over udp, .*: 2 end$", done.stdout)), 8, done.stdout)

    def test_frames_go_by_memory_only_within_a_host(self):
        """Rank 0's requests to each rank, counted: what its counters call shared memory is its host."""
        done = self.good(run(os.path.join(BUILD, "tests", "hosts", "hosts_routes")))
        rows = dict(re.findall(r"^to (\d): (\w+)$", done.stdout, re.M))
        self.assertEqual(rows, {str(r): "memory" if r < 2 else "network" for r in range(8)}, done.stdout)
        self.assertIn("neighbours 2 host 2 hosts 4", done.stdout)

    def test_randomaccess_is_verified_at_five_per_cent_loss(self):
        done = self.good(run(os.path.join(EXAMPLES, "randomaccess"), "am", "-m", "12", PENSTOCK_IMPAIR_DROP="0.05",
                             PENSTOCK_IMPAIR_SEED="7"))
        self.assertIn("randomaccess am: verified", done.stdout)

    def test_conformance(self):
        for program in ("ex_rma", "ex_coll", "ex_atomic_ops", "ex_team_make", "ex_segment", "ex_vis", "g1_barrier",
                        "ex_limits", "g1_am_long", "g1_nbi", "ex_am"):
            path = os.path.join(CONFORMANCE, f"{program}.seq")
            if not os.path.exists(path):
                continue
            with self.subTest(program=program):
                self.good(run(path))

    @unittest.skipIf(not {0, 1} <= os.sched_getaffinity(0), "wants processors 0 and 1")
    def test_cores_of_each_host_are_slots_and_ranks_are_bound_to_them(self):
        """Two hosts that hwloc is told to see otherwise: one core with two threads, and two cores with one each."""
        conf = net.file("cores.conf")
        with open(conf, "w", encoding="ascii") as f:
            f.write(f'Match host h0\n  SetEnv HWLOC_SYNTHETIC="core:1 pu:2"\n'
                    f'Match host h1\n  SetEnv HWLOC_SYNTHETIC="core:2 pu:1"\nMatch all\n  Include {net.file("ssh.conf")}\n')
        say = "import os; print(os.environ['PENSTOCK_RANK'], *sorted(os.sched_getaffinity(0)))"
        where = net.inside("root", PENSTOCK, "run", "-n", "3", "--hosts", "h0,h1", "--bind", sys.executable, "-c", say)
        done = subprocess.run(where, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=patience(LIMIT_S), check=False,
                              env=net.environment(GASNET_SSH_OPTIONS=f"-F {conf}"))
        self.assertEqual(sorted(self.good(done).stdout.splitlines()), ["0 0 1", "1 0", "2 1"])

    def test_a_tree_of_agents_and_uneven_ranks(self):
        done = self.good(run(os.path.join(EXAMPLES, "hello"), ranks=7, options=["--tag"], GASNET_SSH_OUT_DEGREE="1"))
        self.assertEqual(sorted(done.stdout.splitlines()), [f"[{r}] hello from rank {r} of 7" for r in range(7)])

    def test_input_goes_to_rank_0_and_variables_to_all(self):
        text = "line of input\n" * 20000
        done = self.good(run("sh", "-c", 'wc -l; echo "$PENSTOCK_RANK $GASNET_X $TOLD ${SECRET:-none}"', stdin=text,
                             options=["--tag", "--env", "TOLD"], GASNET_X="x y", TOLD="'q' \"r\"", SECRET="s"))
        self.assertIn("[0] 20000\n", done.stdout)
        for rank in range(8):
            self.assertIn(f"[{rank}] {rank} x y 'q' \"r\" none\n", done.stdout)

    def test_amudprun_takes_hosts_from_variables(self):
        """As installed, but for the folder it is in."""
        script = net.file("amudprun")
        with open(os.path.join(SOURCE, "compat", "amudprun.in"), encoding="utf-8") as f:
            text = f.read().replace("@PEN_AMUDP_CONDUIT@", "udp").replace('"$here/penstock"', f"'{PENSTOCK}'")
        with open(script, "w", encoding="utf-8") as f:
            f.write(text)
        with open(net.file("nodes"), "w", encoding="utf-8") as f:
            f.write("h2\nh3\n")
        env = net.environment(GASNET_SPAWNFN="S")
        for name, value, count in (("GASNET_SSH_SERVERS", "h0 h1", 4), ("GASNET_NODEFILE", net.file("nodes"), 2)):
            done = subprocess.run(net.inside("root", "sh", script, "-np", str(count), os.path.join(EXAMPLES, "hello")),
                                  capture_output=True, text=True, env={**env, name: value}, timeout=patience(LIMIT_S), check=False,
                                  stdin=subprocess.DEVNULL)
            self.good(done)
            self.assertEqual(len(done.stdout.splitlines()), count)

    def test_nothing_secret_is_in_arguments(self):
        self.asleep(env={"GASNET_TOKEN": "do-not-show"})
        for name in [*net.names, "root"]:
            for pid in net.processes(name):
                self.assertNotIn(b"do-not-show", b" ".join(network.words_of(pid)))
        os.kill(self.job.pid, signal.SIGTERM)
        self.ends(self.job, -signal.SIGTERM, "SIGTERM received")


class Ending(Case):
    def test_statuses(self):
        done = run("sh", "-c", "test $PENSTOCK_RANK = 5 && exit 7; sleep 600")
        self.assertEqual(done.returncode, 7)
        self.assertRegex(done.stderr, r"rank 5 \(host h2, pid \d+\) exited with status 7; ending the job")
        done = run("./no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertRegex(done.stderr, r"cannot start ./no-such-program on host h\d: ")
        done = run("sleep", "600", options=["--timeout", "10"])
        self.assertEqual(done.returncode, 124)
        self.assertEqual(len(re.findall(r"rank \d \(host \S+, pid \d+\): has not joined", done.stderr)), 8, done.stderr)

    def test_a_rank_that_has_left_is_missed_on_other_hosts(self):
        """Rank 1 on the first host exits with 0; all other ranks, of its own host or not, wait for it."""
        done = run(STUCK, "leave_in_barrier", PENSTOCK_LEAVE_TIMEOUT="600")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"rank [0-7] \(host h\d, pid \d+\) waits in gasnet_barrier_wait for rank 1 "
                                      r"\(host h0, pid \d+\), which has left with 0 and will not take part")
        self.assertEqual(sorted(done.stdout.splitlines()), [f"rank {r} waits" for r in range(8) if r != 1])
        # Ranks 0 and 1 leave before the remaining ranks come to the team's barrier, and no rank of their host can
        # report it.
        done = run(STUCK, "leave_own_host", PENSTOCK_LEAVE_TIMEOUT="600")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"rank [2-7] \(host h[1-3], pid \d+\) waits in gex_Event_Wait for rank [01] "
                                      r"\(host h0, pid \d+\), which has left with 0")

    def test_those_who_compute_are_waited_for_on_all_hosts(self):
        done = run(STUCK, "leave_then_compute")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, "rank 1 has left with 0, ranks 0, 2, 3, 4, 5, 6, 7 have not")
        done = run(STUCK, "leave_forever", PENSTOCK_LEAVE_TIMEOUT="2")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, "had not 2 s later: ended by force")
        self.assertEqual(sorted(done.stdout.splitlines()), [f"rank {r} computes" for r in range(8) if r != 1])

    def test_reports_of_all_hosts(self):
        done = run(STUCK, "barrier", options=["--timeout", "10"])
        self.assertEqual(done.returncode, 124, done.stderr)
        self.assertRegex(done.stderr, r"rank 0 \(host \S+, pid \d+\): attached, waits in gasnet_barrier_wait for")
        self.assertEqual(len(re.findall(r"rank \d \(host \S+, pid \d+\): attached, in no call that waits", done.stderr)), 7)
        self.assertIn("the gasnet_barrier that ranks wait in was not entered by ranks 1, 2, 3, 4, 5, 6, 7\n", done.stderr)

    def test_a_rank_is_killed(self):
        self.asleep()
        os.kill(sleepers()["h3"][0], signal.SIGKILL)
        self.ends(self.job, 137, r"rank [67] \(host h3, pid \d+\) killed by SIGKILL; ending the job")

    def test_an_agent_is_killed(self):
        self.asleep()
        os.kill(agents()["h1"], signal.SIGKILL)
        self.ends(self.job, 1, r"lost host h1 with ranks 2 to 3: .*; ending the job")

    def test_a_stopped_agent_is_not_dead(self):
        self.asleep(env={"PENSTOCK_LAUNCH_BEAT": "1"})
        agent = agents()["h1"]
        os.kill(agent, signal.SIGSTOP)
        try:
            with self.assertRaises(subprocess.TimeoutExpired):
                self.job.wait(timeout=6)
        finally:
            os.kill(agent, signal.SIGCONT)
        os.kill(self.job.pid, signal.SIGINT)
        self.ends(self.job, -signal.SIGINT, "SIGINT received")

    def test_a_host_vanishes(self):
        self.asleep(env={"PENSTOCK_LAUNCH_BEAT": "1"})
        net.link("h2", False)
        try:
            self.ends(self.job, 1, r"lost host h2 with ranks 4 to 5: the connection to its agent ended: .*not responding")
            self.assertTrue(wait_until(lambda: not any(net.processes(n) for n in ("h0", "h1", "h3")), 50))
            # Processes on that host cannot be told to end: its agent finds that the launcher no longer answers.
            self.assertTrue(wait_until(lambda: not sleepers() and not agents(), 80))
        finally:
            net.link("h2", True)  # sshd there learns that its connection is no more

    def test_a_launcher_that_is_stopped_has_not_vanished(self):
        """Nor have its connections, which take nothing any more: what ranks print fills them."""
        self.job = start("sh", "-c", "sleep 2; exec yes", env={"PENSTOCK_LAUNCH_BEAT": "0.25"})
        self.assertTrue(wait_until(lambda: sum(len(p) for p in sleepers().values()) == 2 * HOSTS, 60))
        stopped = net.processes("root")
        self.assertEqual(len(stopped), 1 + HOSTS, "launcher and an ssh for each host")
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(6)
            self.assertEqual(sorted(agents()), net.names)
            self.assertEqual(sum(network.words_of(p) == [b"yes"] for n in net.names for p in net.processes(n)), 2 * HOSTS)
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        os.kill(self.job.pid, signal.SIGINT)
        self.ends(self.job, -signal.SIGINT, "SIGINT received")

    def test_ctrl_c(self):
        self.asleep()
        os.killpg(self.job.pid, signal.SIGINT)
        self.ends(self.job, -signal.SIGINT, "SIGINT received")

    def test_the_launcher_is_killed(self):
        self.asleep()
        self.job.kill()
        self.job.communicate()
        self.job = None  # tearDown waits until nothing is left

    def test_no_sshd(self):
        done = run("hostname", hosts=["h0", "10.77.3.99"], ranks=4)
        self.assertEqual(done.returncode, 1)
        # The message of ssh depends on whether the route or its patience ends first.
        self.assertRegex(done.stderr, r"cannot start on host 10.77.3.99: no agent answered: "
                                      r".*(No route to host|timed out).*; does `ssh 10.77")
        self.assertEqual(done.stdout, "")

    def test_an_ssh_that_ends_early_does_not_take_the_launcher_along(self):
        fake = net.file("fakessh")
        with open(fake, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexec 0<&-\nsleep 0.01\nexit 127\n")
        os.chmod(fake, 0o755)
        command = [PENSTOCK, "run", "-n", "4", "--hosts", "h0,h1,h2", "/bin/true"]
        for _ in range(40):
            done = subprocess.run(command, capture_output=True, timeout=patience(600),
                                  env=net.environment(GASNET_SSH_CMD=fake), check=False)
            self.assertEqual(done.returncode, 1)

    def test_no_penstock_there(self):
        done = run("hostname", GASNET_SSH_REMOTE_PATH="/nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"cannot start on host h\d: status 127: .*GASNET_SSH_REMOTE_PATH")

    def test_a_wrong_key(self):
        done = run("hostname", GASNET_SSH_OPTIONS=f"-F {net.file('ssh.conf')} -i /dev/null -o IdentityFile=/dev/null "
                                                  "-o PubkeyAuthentication=no")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"cannot start on host h\d: no agent answered: .*Permission denied")


class Traces(Case):
    def test_hosts_are_put_on_one_clock(self):
        """Here all hosts have the same clock, so that the offset that is found has to be within its stated error."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "trace")
            self.good(run(TRACED, options=[f"--trace={file}"]))
            parts = [f"{file}.{i}" for i in range(HOSTS)]
            self.assertEqual(sorted(os.listdir(folder)), [os.path.basename(part) for part in parts])
            text = subprocess.run([PENSTOCK, "trace", *reversed(parts)], capture_output=True, text=True, check=True).stdout
            self.assertIn(f"{2 * HOSTS} ranks on {HOSTS} hosts", text)
            rows = subprocess.run([PENSTOCK, "trace", "--csv", *parts], capture_output=True, text=True, check=True).stdout
            mediums = [row for row in csv.DictReader(rows.splitlines()) if int(row["what"]) & 255 == 200]
            for kind in ("sent", "handled"):
                self.assertEqual(sum(row["kind"] == kind for row in mediums), 2 * HOSTS * 500)  # as in traced.c
            time_of = r"([\d.]+) (ns|us|ms)"
            clocks = re.findall(rf"clock of host \S+: estimated by messages, to \+- {time_of}; .* is {time_of} ", text)
            self.assertEqual(len(clocks), HOSTS - 1, text)
            for error, error_unit, ahead, unit in clocks:
                ns = {"ns": 1, "us": 1e3, "ms": 1e6}
                self.assertLess(float(error) * ns[error_unit], 1e8)
                # The two readings of a clock at the begin of a trace are not at exactly the same time.
                self.assertLess(float(ahead) * ns[unit], float(error) * ns[error_unit] + 1e5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
