"""The fixture `bottle` for pytest."""
import pytest

from waterh_bottle import Bottle


def pytest_configure(config):
    config.addinivalue_line("markers", "bottle(profile, capture, faults, seed, options): arguments of the fixture bottle")


@pytest.fixture
def bottle(request):
    """A new emulated bottle for this test (waterh_bottle.Bottle)."""
    mark = request.node.get_closest_marker("bottle")
    with Bottle(*(mark.args if mark else ()), **(mark.kwargs if mark else {})) as emulated:
        yield emulated
