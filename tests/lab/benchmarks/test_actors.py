"""What the benchmark of actors measures of a run."""

from lab.benchmarks import actors as benchmark


def test_an_actors_process_is_measured_beside_the_learners(ray_address):
    row = benchmark.whole(1, 0.1, ray_address)
    assert row["learner_cpu_ms"] > 0.0 and row["actors_cpu_ms"] > 0.0
