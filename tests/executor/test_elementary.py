"""Elementary functions of our own: right to the last place, and the same bits however they are computed."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from engine.runtime import elementary
from engine.runtime.elementary.functions import FUNCTIONS
from engine.runtime.elementary.in_numpy import Elementary
from tests.processes import printed

EXACT = mp.MPContext()
EXACT.prec = 160
NAMES = sorted(FUNCTIONS)
TRUTHS: dict[str, Callable[..., Any]] = {
    **{name: getattr(EXACT, name) for name in NAMES if hasattr(EXACT, name)},
    **{name: getattr(EXACT, f"a{name[3:]}") for name in NAMES if name.startswith("arc")},
    "exp2": lambda x: EXACT.mpf(2) ** x,
    "log2": lambda x: EXACT.log(x, 2),
    "cbrt": lambda x: EXACT.sign(x) * EXACT.cbrt(abs(x)),
    "erfc": lambda x: EXACT.erfc(x) if x < 30 else EXACT.mpf(0),
    "ndtr": lambda x: EXACT.erfc(-x / EXACT.sqrt(2)) / 2 if x > -40 else EXACT.mpf(0),
    "pow": EXACT.power,
    "sigmoid": lambda x: 1 / (1 + EXACT.exp(-x)),
    "softplus": lambda x: EXACT.log1p(EXACT.exp(x)),
    "log_sigmoid": lambda x: -EXACT.log1p(EXACT.exp(-x)),
}
BOUNDS = {"tanh": 1.9, "sinh": 1.9, "erfc": 1.9, "ndtr": 1.9}
"""In units of the last place; 1 for the others."""
DOMAINS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("log", "log2", "log10"), lambda x: x > 0),
    **dict.fromkeys(("arcsin", "arccos"), lambda x: abs(x) <= 1),
    "log1p": lambda x: x > -1,
    "arctanh": lambda x: abs(x) < 1,
    "arccosh": lambda x: x >= 1,
}
_SPECIAL = [0.0, np.inf, np.nan, 1.0, 5e-324, 1e-310, 1e-45, 2.0**-149, 745.0, 710.0, 88.7, 104.0, 1e30, 1.7e308, 0.5]
SPECIAL = np.outer([1, -1], _SPECIAL).ravel()


def special(name: str, dtype: Any) -> list[np.ndarray]:
    """Special numbers, each with each other for functions of two."""
    with np.errstate(all="ignore"):
        return [x.ravel() for x in np.meshgrid(*[SPECIAL.astype(dtype)] * FUNCTIONS[name].operands)]


in_c = pytest.mark.skipif(elementary.in_c is None, reason="there is no extension")


def numbers(dtype: Any, count: int, seed: int = 0) -> np.ndarray:
    """Numbers of all sizes and signs, most of them where functions bend, as many that are large as small."""
    rng = np.random.default_rng(seed)
    sign, least, most = rng.choice([-1.0, 1.0], count), *((-1074, 1023) if dtype == np.float64 else (-149, 127))
    each = [
        rng.uniform(-1, 1, count),
        rng.uniform(-25, 25, count),
        rng.uniform(-750, 750, count) * (1 if dtype == np.float64 else 0.14),
        sign * np.exp2(rng.uniform(least, most, count)),
        sign * np.exp2(rng.uniform(-30, 10, count)),
        1 + sign * np.exp2(rng.uniform(-30, 0, count)),
        np.round(rng.uniform(-40, 40, count)) * (np.pi / 4),
    ]
    return np.concatenate(each).astype(dtype)


def operands(name: str, dtype: Any, count: int) -> list[np.ndarray]:
    return [numbers(dtype, count, seed) for seed in range(FUNCTIONS[name].operands)]


def error(got: Any, truth: Any) -> float:
    """How far a number is from the truth, in units of the last place of the truth."""
    limits = np.finfo(got.dtype)
    if abs(truth) > float(limits.max) * (1 + 2.0 ** -(limits.nmant + 2)):
        return 0.0 if got == (np.inf if truth > 0 else -np.inf) else np.inf
    exponent = max(int(EXACT.floor(EXACT.log(abs(truth), 2))), int(limits.minexp)) if truth else int(limits.minexp)
    return float(abs(EXACT.mpf(float(got)) - truth) / EXACT.mpf(2) ** (exponent - int(limits.nmant)))


def bits(x: Any) -> bytes:
    return np.asarray(x).tobytes()


@pytest.fixture(autouse=True)
def widths() -> Iterator[None]:
    yield
    if elementary.in_c is not None:
        elementary.in_c.use(elementary.widest())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NAMES)
def test_functions_are_right_to_the_last_place(name: str, dtype: Any) -> None:
    given = [x[DOMAINS.get(name, np.isfinite)(x)] for x in operands(name, dtype, 60)]
    if name == "pow":
        # moderate powers, too
        given = [np.append(abs(given[0]), abs(given[0])), np.append(given[1], np.sort(given[1])[::-1] % 40)]
    with np.errstate(all="ignore"):
        found = getattr(elementary, name)(*given)
    assert found.dtype == dtype
    # float32 without steps of its own is rounded once, from numbers of which the next places are right
    once = dtype == np.float32 and FUNCTIONS[name].short is None
    bound = 0.501 if once else BOUNDS.get(name, 1.0)
    worst = max(
        (error(y, TRUTHS[name](*[EXACT.mpf(float(x)) for x in xs])), xs, y)
        for y, *xs in zip(found, *given, strict=True)
    )
    assert worst[0] <= bound, worst


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_small_powers_of_whole_numbers_are_exact(dtype: Any) -> None:
    bases, exponents = [x.ravel().astype(dtype) for x in np.meshgrid(np.arange(1, 40), np.arange(5))]
    powers = np.arange(-30, 31)
    assert bits(elementary.pow(bases, exponents)) == bits((bases.astype(int) ** exponents.astype(int)).astype(dtype))
    assert bits(elementary.exp2(powers.astype(dtype))) == bits(np.ldexp(dtype(1), powers))
    assert bits(elementary.log2(np.ldexp(dtype(1), powers))) == bits(powers.astype(dtype))
    assert bits(elementary.cbrt(bases**3)) == bits(bases)


@in_c
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NAMES)
def test_each_width_and_numpy_give_the_same_bits(name: str, dtype: Any) -> None:
    given = [np.concatenate(pair) for pair in zip(operands(name, dtype, 500), special(name, dtype), strict=True)]
    with np.errstate(all="ignore"):
        expected = bits(Elementary(name, FUNCTIONS[name])(*given))
        for width in (16, 32, 64):
            elementary.in_c.use(width)
            assert bits(getattr(elementary, name)(*given)) == expected, width


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", [name for name in NAMES if FUNCTIONS[name].numpy])
def test_special_numbers_are_those_of_numpy(name: str, dtype: Any) -> None:
    given = special(name, dtype)
    with np.errstate(all="ignore"):
        ours, theirs = getattr(elementary, name)(*given), getattr(np, FUNCTIONS[name].numpy)(*given)
    for y, z, *xs in zip(ours, theirs, *given, strict=True):
        if np.isfinite(z) and z:
            assert abs(float(y) - float(z)) <= 4 * float(np.spacing(np.abs(z))), xs
        else:
            assert np.array_equal(y, z, equal_nan=True) and (np.isnan(z) or np.signbit(y) == np.signbit(z)), xs


def complaints(function: Any, *xs: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as told, np.errstate(all="warn"):
        warnings.simplefilter("always")
        function(*xs)
    return sorted(str(each.message) for each in told)


COMPLAINTS = [
    *[("exp", (x,)) for x in (1e3, -1e3, -745.0, np.inf, np.nan, -np.inf, 0.0)],
    *[("exp2", (x,)) for x in (2e3, -2e3, -1073.5)],
    *[("expm1", (x,)) for x in (1e3, -1e3, 1e-300)],
    *[("log", (x,)) for x in (0.0, -0.0, -1.0, 5e-324, np.inf, -np.inf, np.nan)],
    *[(name, (x,)) for name in ("log2", "log10") for x in (0.0, -1.0, 1e-310)],
    *[("log1p", (x,)) for x in (-1.0, -2.0, 0.0, -np.inf, np.inf)],
    *[("sinh", (x,)) for x in (1e3, -1e3, np.inf)],
    *[("cosh", (x,)) for x in (1e3, -1e3, -np.inf)],
    *[("tanh", (x,)) for x in (1e3, 0.0, np.nan, -np.inf)],
    *[
        (name, (x,))
        for name in ("arcsin", "arccos", "arccosh", "arctanh")
        for x in (-2.0, 1.0, -1.0, np.nan, np.inf, 0.0)
    ],
    *[(name, (x,)) for name in ("arctan", "arcsinh", "cbrt") for x in (-2.0, np.nan, np.inf, 0.0, 1e-300)],
    *[("arctan2", xs) for xs in ((0.0, 0.0), (np.inf, -np.inf), (1.0, np.nan), (1e300, 1e-300))],
    *[("hypot", xs) for xs in ((0.0, 0.0), (np.inf, np.nan), (1.0, np.nan), (1.7e308, 1.7e308), (3e38, 3e38))],
    *[("pow", xs) for xs in ((0.0, -1.0), (-0.0, -2.0), (-0.0, -3.0), (10.0, 1e3), (10.0, -1e3), (-8.0, 0.5))],
    *[("pow", xs) for xs in ((np.nan, 0.0), (1.0, np.nan), (-2.0, 3.0), (np.inf, -1.0), (-np.inf, 0.5), (2.0, np.inf))],
    *[(name, (x,)) for name in ("sin", "cos", "tan") for x in (1e300, np.inf, -np.inf, np.nan, 0.0)],
]


@pytest.mark.parametrize("in_numpy", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("name", "xs"), COMPLAINTS, ids=str)
def test_what_goes_wrong_is_said_as_numpy_says_it(name: str, xs: tuple[float, ...], dtype: Any, in_numpy: bool) -> None:
    with np.errstate(all="ignore"):
        given = [np.full(3, x).astype(dtype) for x in xs]
    ours = Elementary(name, FUNCTIONS[name]) if in_numpy else getattr(elementary, name)
    theirs = [x.replace("in power", "in pow") for x in complaints(getattr(np, FUNCTIONS[name].numpy), *given)]
    assert complaints(ours, *given) == theirs
    if not complaints(ours, *given):
        return
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="encountered in"):
        ours(*given)


@pytest.mark.parametrize("in_numpy", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NAMES)
def test_functions_are_called_as_ufuncs_of_numpy(name: str, dtype: Any, in_numpy: bool) -> None:
    function = Elementary(name, FUNCTIONS[name]) if in_numpy else getattr(elementary, name)
    with np.errstate(all="ignore"):
        for count in (0, 1, 2, 3, 7, 15, 16, 17, 63, 64, 65, 200):
            xs = [
                np.linspace(1.1 if name == "arccosh" else 0.1 + i, 1.9, count).astype(dtype)
                for i in range(FUNCTIONS[name].operands)
            ]
            each = np.array([function(*x) for x in zip(*xs, strict=True)], dtype)
            whole = function(*xs)
            assert bits(whole) == bits(each) and whole.dtype == dtype
            gaps = [np.repeat(x, 3)[::3] for x in xs]
            assert bits(function(*gaps)) == bits(each) == bits(function(*[x[::-1] for x in xs])[::-1])
            out = np.full(2 * count, 7, dtype)
            assert function(*xs, out=out[::2]) is not None and bits(out[::2]) == bits(each) and (out[1::2] == 7).all()
            ahead = np.concatenate([xs[0], xs[0][:1]])
            function(ahead[:count], *xs[1:], out=ahead[1:])
            assert bits(ahead[1:]) == bits(each)
            some, held = np.arange(count) % 3 == 0, np.full(count, 7, dtype)
            function(*xs, out=held, where=some)
            assert bits(held[some]) == bits(each[some]) and (held[~some] == 7).all()
        square = [x.reshape(10, 20) for x in xs]
        turned = function(*[x.T for x in square])
        assert bits(turned.T.copy()) == bits(each) and turned.flags.f_contiguous
        assert (
            isinstance(function(*[x[3] for x in xs]), dtype) and function(*[x[3:4].reshape(()) for x in xs]) == each[3]
        )
        assert function(*[x[:1] for x in xs[:-1]], xs[-1]).shape == (200,)


@pytest.mark.parametrize("name", [name for name in NAMES if FUNCTIONS[name].numpy])
def test_other_dtypes_are_those_of_numpy(name: str) -> None:
    ours, theirs = getattr(elementary, name), getattr(np, FUNCTIONS[name].numpy)
    kinds = [types.partition("->")[0] for types in theirs.types if types[0] not in "fdgGO"]
    for kind in kinds:
        xs = [np.full(5, 0.5 if k in "eFD" and name != "arccosh" else 1).astype(k) for k in kind]
        for function in (ours, Elementary(name, FUNCTIONS[name])):
            assert bits(function(*xs)) == bits(theirs(*xs)), kind
    with np.errstate(all="ignore"):
        if name != "pow":
            whole = [np.arange(1, 9)] * FUNCTIONS[name].operands
            assert bits(ours(*whole)) == bits(ours(*[x.astype(float) for x in whole]))
        assert ours(*[np.float32(1)] * FUNCTIONS[name].operands).dtype == np.float32


PROGRAM = """
import hashlib, sys
import numpy as np
import graph_api, tape_api
found = hashlib.sha256()
for dtype in (np.float64, np.float32):
    x = np.linspace(-3, 3, 1001).astype(dtype)
    def f(tf, x):
        gate = tf.sigmoid(x) * tf.tanh(x) + tf.exp(-x * x) - tf.nn.softplus(x) * tf.sin(3 * x)
        gate += tf.nn.elu(x) + tf.math.log_sigmoid(x)
        return tf.reduce_sum(gate + tf.math.log1p(x * x) * tf.math.log(x * x + 0.5))
    place = graph_api.placeholder(x.dtype, x.shape)
    node, = graph_api.gradients(f(graph_api, place), place)
    with graph_api.Session() as session:
        graphs = [session.run(node, {place: x}) for _ in range(4)]
    tapes = []
    for _ in range(4):
        with tape_api.GradientTape() as tape:
            t = tape_api.constant(x)
            tape.watch(t)
            y = f(tape_api, t)
        tapes.append(tape.gradient(y, t).numpy())
    function = tape_api.function(lambda t: f(tape_api, t))
    values = [function(tape_api.constant(x)).numpy() for _ in range(4)] + [y.numpy()]
    assert len({z.tobytes() for z in graphs + tapes}) == 1 == len({z.tobytes() for z in values})
    found.update(graphs[0].tobytes() + values[0].tobytes())
print(found.hexdigest())
"""


def test_programs_give_the_same_bits_in_each_mode_and_width() -> None:
    narrow = "X86_V3 X86_V4 AVX2 FMA3 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
    settings = {}, {"DUALGRAD_NATIVE": "0"}, {"NPY_DISABLE_CPU_FEATURES": narrow, "PYTHONWARNINGS": "ignore"}
    assert len({printed(PROGRAM, **setting) for setting in settings}) == 1
