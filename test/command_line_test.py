#!/usr/bin/env python3
"""The rules that only the whole program can break: its flags, and its exit codes.

Usage: command_line_test.py OFFCUT OFFCUT_BENCH [TEST ...]
"""
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

OFFCUT = ""
BENCH = ""
PATIENCE_S = 60
NODE = '{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1"}}'


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def run(*arguments):
    """The exit code and what stands on standard error."""
    done = subprocess.run(
        [OFFCUT, *arguments], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    return done.returncode, done.stderr


class CommandLineTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.snapshot = os.path.join(self.folder.name, "nodes.json")
        with open(self.snapshot, "w", encoding="utf-8") as file:
            file.write(NODE)

    def serve(self, output):
        """The server, once it is ready."""
        health = free_port()
        process = subprocess.Popen(
            [OFFCUT, "serve", "--snapshot", self.snapshot, "--bind-address", "127.0.0.1:0",
             "--health-bind-address", f"127.0.0.1:{health}",
             "--metrics-bind-address", "127.0.0.1:0"],
            stdout=output, stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{health}/readyz", timeout=5):
                    return process
            except OSError:
                time.sleep(0.02)
        self.fail("the server was not ready in time")

    def test_a_server_whose_output_nobody_reads_ends_well(self):
        with open("/dev/full", "wb") as full:
            process = self.serve(full)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(PATIENCE_S), 0)

    def test_a_result_that_cannot_be_written_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([OFFCUT, "policy", "schema"], stdout=full,
                                  stderr=subprocess.DEVNULL, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 1)

    def test_an_empty_value_is_refused_by_the_name_of_its_flag(self):
        for command, flags in {
            ("serve",): ("--snapshot", "--policy", "--kubeconfig", "--bind-address",
                         "--health-bind-address", "--metrics-bind-address", "--tls-cert-file",
                         "--tls-client-ca-file", "--leader-elect-lease-name", "--pod-name",
                         "--max-body-bytes"),
            ("kube-config",): ("--policy", "--url-prefix", "--ca-file", "--scheduler-name",
                               "--leader-elect-resource-name"),
            ("explain", "pod"): ("--snapshot", "--policy"),
            ("policy", "validate"): ("--snapshot",),
            ("tenants",): ("--snapshot", "--policy", "--output"),
        }.items():
            for flag in flags:
                code, text = run(*command, flag, "")
                self.assertEqual(code, 2, flag)
                self.assertIn(flag, text)

    def test_an_address_that_cannot_be_had_names_the_flag_that_asked_for_it(self):
        addresses = {flag: "127.0.0.1:0" for flag in (
            "--bind-address", "--health-bind-address", "--metrics-bind-address")}
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            for flag in addresses:
                arguments = [word for pair in {**addresses, flag: address}.items()
                             for word in pair]
                code, text = run("serve", "--snapshot", self.snapshot, *arguments)
                self.assertEqual(code, 1)
                self.assertIn(f"offcut: {flag} {address}: cannot listen: ", text)
        code, text = run("serve", "--snapshot", self.snapshot, "--bind-address", "here")
        self.assertEqual(code, 1)
        self.assertIn('offcut: --bind-address: "here" is no listen address', text)

    def test_an_import_without_the_trace_is_a_failure(self):
        output = os.path.join(self.folder.name, "openb.json")
        done = subprocess.run([BENCH, "import-openb", "-o", output], capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False,
                              env={**os.environ, "OFFCUT_TRACES": self.folder.name})
        self.assertEqual(done.returncode, 1)
        self.assertIn("OFFCUT_TRACES", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_a_name_that_no_object_can_have_is_refused_by_its_flag(self):
        for flag in ("--leader-elect-lease-name", "--pod-name", "--pod-namespace",
                     "--leader-elect-lease-namespace"):
            for name in "a/b", "Upper", "-a", "a b", "..", "a" * 254:
                code, text = run("serve", "--leader-elect", "lease", f"{flag}={name}")
                self.assertEqual(code, 2, name)
                self.assertIn(f"{flag}: '{name}' is no DNS ", text)

    def test_files_need_no_leader(self):
        for kind in "lease", "service":
            code, text = run("serve", "--snapshot", self.snapshot, "--leader-elect", kind,
                             "--pod-name", "p")
            self.assertEqual(code, 2)
            self.assertIn("--leader-elect: needs a cluster", text)

    def test_a_rate_is_a_number(self):
        for flag in "--kube-api-qps", "--kube-api-burst":
            code, text = run("serve", flag, "nan")
            self.assertEqual(code, 2)
            self.assertIn(flag, text)

    def test_the_help_of_a_simulation_names_the_strategies_and_the_default(self):
        done = subprocess.run([OFFCUT, "simulate", "--help"], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=True)
        words = " ".join(done.stdout.split())
        self.assertIn("best-fit, clustering, dot-product, fgd, first-fit, offcut, packing, ", words)
        self.assertIn("mig-first-fit, mig-best-fit, mfi, fgd-mask, cap-mask, offcut", words)
        self.assertIn("--strategy TEXT=best-fit, with --mig offcut", words)

    def test_a_replay_takes_one_load_and_its_options_need_it(self):
        files = ("simulate", "--nodes", "none.csv", "--pods", "none.csv")
        for arguments, problem in {
            ("--load", "nan"): "--load: is no number",
            ("--load", "0"): "--load: Value 0 not in range",
            ("--load", "0.9", "--load", "1"): "--load: is one, but for --mig",
            ("--duration", "0", "--load", "1"): "--duration: Value 0 not in range",
            ("--lives", "none", "--load", "1"): "--lives: none not in",
            ("--lives", "trace"): "--lives requires --load",
            ("--warm-up", "2"): "--warm-up requires --load",
            ("--gpus", "2"): "--gpus requires --mig",
            ("--seed", "-1"): "--seed: -1 is no whole number",
            ("--seed", "18446744073709551616"): "--seed: 18446744073709551616 is no whole number",
        }.items():
            code, text = run(*files, *arguments)
            self.assertEqual(code, 2, arguments)
            self.assertIn(problem, text)
        self.assertEqual(run(*files, "--load", "1"), (1, "offcut: none.csv: cannot be read\n"))
        code, text = run("simulate", "--mig", "--lives", "trace")
        self.assertEqual((code, "--mig excludes --lives" in text), (2, True))


if __name__ == "__main__":
    OFFCUT = sys.argv.pop(1)
    BENCH = sys.argv.pop(1)
    unittest.main()
