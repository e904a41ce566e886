"""The module against a real plumb: `PLUMB=PROGRAM python -m unittest discover tests` with the module in PYTHONPATH."""

import os
import tempfile
import time
import unittest

import plumb_bench

PROGRAM = os.environ["PLUMB"]
SIMULATED = ("--ioengine=sim", "--sim_service_time=100us", "--iodepth=4", "--bs=4k", "--size=1g", "--time_based")


class InDirectory(unittest.TestCase):
    """Runs plumb in a directory that goes away."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def start(self, *words):
        return plumb_bench.start(*words, program_path=PROGRAM, directory=self.directory)

    def run_fio(self, *words):
        return plumb_bench.run("fio", *words, program_path=PROGRAM, directory=self.directory)


class Runs(InDirectory):
    """Runs of the program, whose numbers are known."""

    def test_four_at_100_us_are_40000_a_second(self):
        outcome = self.run_fio("--name=a", "--rw=randread", "--runtime=2", *SIMULATED)
        (job,) = outcome.jobs()
        self.assertEqual((job.name, job.workers, job.error, job.write), ("a", 1, None, None))
        self.assertAlmostEqual(job.read.iops, 40000, delta=1)
        self.assertEqual(job.read.bytes, 4096 * job.read.ios)
        self.assertEqual(job.read.latency_percentiles_ns[50.0] // 1000, 99)
        self.assertEqual(outcome.starts[0].jobs[0].engine, "sim")
        self.assertEqual(outcome.starts[0].jobs[0].block_sizes["read"], (4096, 4096))
        self.assertIn("IOPS=40.0k", outcome.output)

    def test_intervals_come_while_it_measures_and_add_up(self):
        words = ("--name=a", "--rw=randrw", "--size=4m", "--rate_iops=500", "--time_based", "--runtime=3")
        seen = []
        with self.start("fio", *words) as run:
            for interval in run.intervals():
                seen.append(time.time() - interval.unix_ms / 1000)
            outcome = run.outcome()
        self.assertGreaterEqual(len(seen), 4)
        self.assertLess(sorted(seen)[len(seen) // 2], 0.4, "an interval is read when it has ended")
        (end,) = outcome.ends
        self.assertEqual(end.intervals, len(outcome.intervals))
        for way in range(3):
            self.assertEqual(sum(interval.ios[way] for interval in outcome.intervals), end.ios[way])
            self.assertEqual(sum(interval.bytes[way] for interval in outcome.intervals), end.bytes[way])
        self.assertEqual(sum(end.ios), end.jobs[0].read.ios + end.jobs[0].write.ios)
        first = outcome.intervals[0]
        self.assertAlmostEqual(first.iops.read * first.seconds, first.ios.read, places=6)
        self.assertEqual((outcome.lost_lines, outcome.status), (0, 0))

    def test_checks_and_remarks_are_there(self):
        outcome = self.run_fio("--name=a", "--rw=randread", "--size=4m", "--time_based", "--runtime=1")
        grades = {check.check: check.grade for check in outcome.checks}
        self.assertEqual(grades["small set"], "valid_with_limits")
        self.assertEqual(grades["errors"], "trusted")
        (small,) = [remark for remark in outcome.remarks if remark.check == "small set"]
        self.assertIn("fits into", small.sentence)

    def test_a_survey_has_a_run_for_each_test(self):
        words = ("--tests", "randread", "--users", "1,2", "--time", "1s", "--size", "16M", "--no-report")
        with self.start("survey", *words, self.directory) as run:
            outcome = run.outcome()
        titles = [start.title for start in outcome.starts]
        self.assertEqual(len(outcome.ends), len(titles))
        self.assertGreaterEqual(len(titles), 3, titles)

    def test_a_mistake_is_an_error_with_its_sentence(self):
        with self.assertRaises(plumb_bench.RunFailed) as caught:
            self.run_fio("--name=a", "--rw=nonsense")
        self.assertIn("nonsense", str(caught.exception))
        self.assertEqual(caught.exception.outcome.status, 1)
        self.assertEqual(caught.exception.outcome.lines, ())
        with self.assertRaises(plumb_bench.RunFailed) as caught:
            plumb_bench.run("parse", "x", program_path=PROGRAM)
        self.assertIn("--stream", str(caught.exception))
        with self.assertRaises(FileNotFoundError):
            plumb_bench.run("fio", program_path="/nowhere/plumb")
        with self.assertRaises(ValueError):
            plumb_bench.run(program_path=PROGRAM)

    def test_leaving_early_ends_the_run_and_keeps_its_result(self):
        began = time.time()
        with self.start("fio", "--name=a", "--rw=randread", "--size=4m", "--time_based", "--runtime=60") as run:
            next(run.intervals())
        self.assertLess(time.time() - began, 30)
        with self.assertRaises(plumb_bench.RunFailed) as caught:
            run.outcome()
        (end,) = caught.exception.outcome.ends
        self.assertEqual(end.ended_by_signal, 2)
        self.assertGreater(end.jobs[0].read.ios, 0)


class Lines(unittest.TestCase):
    """Lines by themselves."""

    def test_new_members_are_no_error_and_other_lines_are(self):
        line = plumb_bench.parse('{"type":"check","run":2,"check":"cache","grade":"trusted","new":[1]}')
        self.assertEqual(line, plumb_bench.Check(2, "cache", "trusted"))
        for text in ("", "{", "[]", '{"type":"nothing","run":1}', '{"type":"check","run":1}', "4", "null"):
            with self.assertRaises(plumb_bench.LineError, msg=text):
                plumb_bench.parse(text)

    def test_a_stream_of_another_schema_is_refused(self):
        with self.assertRaisesRegex(plumb_bench.LineError, "stream_schema is 2"):
            plumb_bench.parse('{"type":"start","stream_schema":2}')


class Frames(InDirectory):
    """DataFrames, where pandas is installed; without it the error says how to get it."""

    def test_frames(self):
        outcome = self.run_fio("--name=a", "--rw=randrw", "--size=4m", "--time_based", "--runtime=1")
        try:
            import pandas
        except ImportError:
            with self.assertRaisesRegex(ImportError, r"plumb-bench\[pandas\]"):
                outcome.frame()
            return
        frame = outcome.frame()
        (end,) = outcome.ends
        self.assertEqual(frame["read_ios"].sum(), end.ios.read)
        self.assertTrue(isinstance(frame["time"].dtype, pandas.DatetimeTZDtype))
        results = outcome.results().set_index("direction")
        self.assertEqual(results.loc["write", "bytes"], end.jobs[0].write.bytes)
        self.assertEqual(results.loc["read", "latency_p50_ns"], end.jobs[0].read.latency_percentiles_ns[50.0])


if __name__ == "__main__":
    unittest.main()
