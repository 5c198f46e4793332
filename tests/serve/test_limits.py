"""The limit on requests."""

from ambilearn.serve.limits import RateLimit


def test_requests_come_back_with_time():
    now = 0.0
    limit = RateLimit(2, 3, clock=lambda: now)
    assert [limit.allows() for _ in range(5)] == [True, True, True, False, False]
    now = 1.0
    assert [limit.allows() for _ in range(3)] == [True, True, False]
    now = 100.0
    assert [limit.allows() for _ in range(5)] == [True, True, True, False, False]
