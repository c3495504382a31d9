"""The fixture `bottle` for pytest."""
import pytest

from waterh_bottle import Bottle


def pytest_configure(config):
    config.addinivalue_line("markers", "bottle(profile, capture, faults, seed, options): how the fixture bottle is started")


@pytest.fixture
def bottle(request):
    """An emulated bottle, for this test alone (waterh_bottle.Bottle)."""
    mark = request.node.get_closest_marker("bottle")
    with Bottle(*(mark.args if mark else ()), **(mark.kwargs if mark else {})) as made:
        yield made
