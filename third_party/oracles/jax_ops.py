"""Forward vectors of single ops from JAX for graph, written to OUTPUT_DIR/jax_ops.json.gz.

{"versions": {...}, "cases": [CASE...], "promotion": [P...], "scalar_promotion": [S...]}
CASE: {"op": name, "attrs": {...}, "inputs": [array...], "outputs": [array...], "rtol": r, "atol": a}
  Arrays as in common.py. Outputs agree if bits agree (rtol and atol 0; any NaN equals any NaN), or else if
  |got - want| <= atol + rtol*|want|, infinities and NaN in the same places. Computed with 64-bit types on.
  Names are those of StableHLO or jax.lax ("rem" truncates, sign of the dividend), but for jax.numpy's "remainder" and
  "floor_divide" (sign of the divisor), "round" (half away from zero) and "round_half_even".
  op                attrs
  elementwise       none
  convert           dtype
  reduce            kind: sum prod max min and or xor; axes
  cumsum cumprod cummax cummin cumlogsumexp      axis, reverse
  argmax argmin     axis (int64 results; the first of equals; a NaN wins)
  sort              axis, num_keys (the first operands, in lexicographic order), stable; inputs and outputs: operands
  top_k             k (along the last axis; outputs values and int32 indices)
  conv              strides, padding [[lo, hi]...], lhs_dilation, rhs_dilation, feature_groups, batch_groups, lhs, rhs, out
                    (letters: N batch, C feature, O output feature, I input feature, digits spatial), padding_name
  reduce_window     kind, window, strides, padding [[lo, hi]...], base_dilation, window_dilation; init as XLA's identity
  pad               config [[lo, hi, interior]...], lo and hi may be negative; inputs x and the scalar padding value
  dynamic_slice     sizes; inputs x, starts (int32 vector; clamped into range)
  dynamic_update_slice    inputs x, update, starts
  gather            jax.lax.gather's dimension numbers, slice_sizes, mode clip or fill (fill: NaN, smallest int)
  scatter           kind set add min max mul, jax.lax's dimension numbers, mode clip or drop; inputs x, indices, updates
  take              axis, mode clip fill wrap; inputs x, indices (jax.numpy.take; fill: negative ones count from the end)
  take_along_axis   axis
  at                kind set add max min mul, axis 0 indexing, mode drop or clip; inputs x, indices, updates (x.at[i].kind)
  dot_general       contract [[lhs], [rhs]], batch [[lhs], [rhs]], maybe dtype, the preferred_element_type
  dot_general_vjp   the same; inputs x, y and the result's cotangent; outputs those of x and y
  einsum            equation
P: {"a": dtype, "b": dtype, "x64": bool, "out": dtype}: dtype of a + b for two arrays (types of jax_enable_x64 = x64).
S: {"a": dtype, "scalar": "bool" | "int" | "float", "x64": bool, "out": dtype}: dtype of a + Python scalar.
"""
import os

os.environ["JAX_ENABLE_X64"] = "1"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

from common import encode, out_dir, versions, write  # noqa: E402

CASES = []
TOLERANCE = {"float64": (1e-13, 1e-14), "float32": (3e-6, 1e-6), "float16": (2e-3, 2e-3), "bfloat16": (1.6e-2, 1.6e-2)}
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
RNG = np.random.default_rng(7)


def case(op, f, inputs, attrs=None, exact=False):
    inputs = [jnp.asarray(x) for x in inputs]
    out = f(*inputs)
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    widths = [TOLERANCE[str(o.dtype)] for o in outs if str(o.dtype) in TOLERANCE]
    rtol, atol = (0, 0) if exact or not widths else max(widths)
    CASES.append({"op": op, "attrs": attrs or {}, "inputs": [encode(x) for x in inputs], "outputs": [encode(o) for o in outs],
                  "rtol": rtol, "atol": atol})


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def whole(*shape, low=-9, high=10, dtype=np.float32):
    """Small whole numbers: sums of products are exact in any order."""
    return RNG.integers(low, high, shape).astype(dtype)


def elementwise():
    wide = [-np.inf, -88.0, -20.0, -5.5, -2.5, -1.5, -1.0, -0.75, -0.5, -0.1, -1e-3, -1e-6, -0.0, 0.0, 1e-6, 1e-3, 0.1, 0.25, 0.5,
            0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 6.0, 11.0, 30.0, 88.0, np.inf, np.nan]
    positive = [1e-30, 1e-6, 1e-3, 0.1, 0.5, 1.0, 1.5, 2.0, 7.0, 100.0, 1e4, np.inf, 0.0, -1.0, np.nan]
    unit = [-1.0, -0.999, -0.9, -0.5, -0.1, -1e-4, 0.0, 1e-4, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.9999, 1.0, 1.5, np.nan]
    gamma = [0.1, 0.5, 0.9, 1.0, 1.5, 2.0, 3.3, 7.0, 20.0, 50.0, -0.5, -1.5, -2.25, 0.0, -1.0, np.nan, np.inf]
    loose = {"tan", "digamma", "lgamma", "erf_inv"}
    funcs = {
        "exponential": (lax.exp, wide), "exponential_minus_one": (lax.expm1, wide), "log": (lax.log, positive),
        "log_plus_one": (lax.log1p, [-1.0, -0.999, -0.5, -1e-6, 0.0, 1e-6, 1e-3, 0.5, 1.0, 30.0, 1e4, -1.5, np.nan, np.inf]),
        "logistic": (lax.logistic, wide), "tanh": (lax.tanh, wide), "erf": (lax.erf, wide), "erfc": (lax.erfc, wide[2:]),
        "erf_inv": (lax.erf_inv, unit), "lgamma": (lax.lgamma, gamma), "digamma": (lax.digamma, gamma[:-5]),
        "sqrt": (lax.sqrt, positive), "rsqrt": (lax.rsqrt, positive), "cbrt": (lax.cbrt, positive + [-8.0, -0.001]),
        "sine": (lax.sin, wide[1:-2]), "cosine": (lax.cos, wide[1:-2]), "tan": (lax.tan, wide[2:-3]),
        "asin": (lax.asin, unit), "acos": (lax.acos, unit), "atan": (lax.atan, wide), "sinh": (lax.sinh, wide[2:-3]),
        "cosh": (lax.cosh, wide[2:-3]), "asinh": (lax.asinh, wide[2:-3]), "acosh": (lax.acosh, [1.0, 1.5, 10.0, 100.0, 0.5]),
        "atanh": (lax.atanh, unit), "floor": (lax.floor, wide), "ceil": (lax.ceil, wide), "sign": (lax.sign, wide),
        "negate": (lax.neg, wide), "abs": (lax.abs, wide), "is_finite": (lax.is_finite, wide),
        "round": (lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), wide),
        "round_half_even": (lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), wide),
    }
    rounding = {"floor", "ceil", "sign", "negate", "abs", "is_finite", "round", "round_half_even"}
    for name, (f, points) in funcs.items():
        for dtype in FLOATS:
            if dtype == "float16" and name in loose:
                continue
            case(name, f, [jnp.asarray(points, dtype)], exact=name in rounding)

    x = np.array([-7.5, -7, -3, -2, -1, -0.5, 0.0, 0.5, 1, 2, 3, 7, 7.5, 5.25])
    a, b = (g.ravel() for g in np.meshgrid(x, np.array([-3.0, -2.0, -0.5, 0.5, 1.0, 2.0, 3.0, 2.5])))
    exact = {"rem", "remainder", "floor_divide", "maximum", "minimum", "nextafter"}
    for name, f in {"atan2": lax.atan2, "power": lax.pow, "rem": lax.rem, "remainder": jnp.remainder, "floor_divide": jnp.floor_divide,
                    "divide": lax.div, "maximum": lax.max, "minimum": lax.min, "nextafter": lax.nextafter}.items():
        for dtype in ("float32", "float64", "bfloat16") if name != "nextafter" else ("float32", "float64"):
            case(name, f, [jnp.asarray(a, dtype), jnp.asarray(b, dtype)], exact=name in exact)
    odd_a = np.float32([np.nan, 1, np.inf, -np.inf, 0, -0.0, 0, 2, -8, 1])
    odd_b = np.float32([1, np.nan, 2, 2, 0, 0, -1, np.inf, 1 / 3, np.inf])
    for name, f in {"maximum": lax.max, "minimum": lax.min, "power": lax.pow, "divide": lax.div, "atan2": lax.atan2}.items():
        case(name, f, [odd_a, odd_b])
    case("clamp", lambda lo, v, hi: lax.clamp(lo, v, hi), [np.float32(-1), np.float32([-5, -1, 0, 0.5, 3, np.nan]), np.float32(1)], exact=True)
    case("clamp", lambda lo, v, hi: lax.clamp(lo, v, hi), [np.int32([0, 5, 2]), np.int32([9, 9, 9]), np.int32([3, 4, 2])])
    case("select", lambda c, t, e: lax.select(c, t, e), [np.array([True, False, True]), np.int32([1, 2, 3]), np.int32([7, 8, 9])])
    for i in (-2, 0, 1, 2, 3, 7):
        case("integer_pow", lambda v, i=i: lax.integer_pow(v, i), [np.float32([-2, -0.5, 0.1, 1, 3])], {"exponent": i})


def integers():
    for dtype in INTS:
        info = jnp.iinfo(dtype)
        bits = info.bits
        x = np.array(sorted({info.min, info.min + 1, max(info.min, -7), max(info.min, -1), 0, 1, 2, 5, 100, info.max - 1, info.max}), dtype)
        y = np.array([1, 2, 3, 7, info.max] + ([-1, -3, -7] if info.min < 0 else []), dtype)
        a, b = (g.ravel() for g in np.meshgrid(x, y))
        keep = ~((a == info.min) & (b == np.asarray(-1).astype(dtype)) & (info.min < 0))  # overflow: implementation-defined
        a, b = a[keep], b[keep]
        for name, f in {"divide": lax.div, "rem": lax.rem, "floor_divide": jnp.floor_divide, "remainder": jnp.remainder,
                        "add": lax.add, "subtract": lax.sub, "multiply": lax.mul, "maximum": lax.max, "minimum": lax.min,
                        "and": lax.bitwise_and, "or": lax.bitwise_or, "xor": lax.bitwise_xor}.items():
            case(name, f, [a, b])
        amount = np.array([0, 1, bits // 2, bits - 1, bits, bits + 5], dtype)
        a, b = (g.ravel() for g in np.meshgrid(x, amount))
        for name, f in {"shift_left": lax.shift_left, "shift_right_logical": lax.shift_right_logical,
                        "shift_right_arithmetic": lax.shift_right_arithmetic}.items():
            case(name, f, [a, b])
        for name, f in {"popcnt": lax.population_count, "count_leading_zeros": lax.clz, "not": lax.bitwise_not,
                        "negate": lax.neg, "sign": lax.sign, "abs": lax.abs if info.min < 0 else None}.items():
            if f:
                case(name, f, [x])
    t = np.array([True, True, False, False]), np.array([True, False, True, False])
    for name, f in {"and": lax.bitwise_and, "or": lax.bitwise_or, "xor": lax.bitwise_xor}.items():
        case(name, f, list(t))
    case("not", lax.bitwise_not, [t[0]])


def conversions():
    f = np.array([-1e10, -300.7, -129.0, -128.5, -2.5, -1.5, -0.5, -0.0, 0.4, 0.5, 1.5, 2.5, 127.9, 255.5, 300.0, 70000.0, 1e10])
    for src in ("float32", "float64", "bfloat16"):
        x = jnp.asarray(f, src)
        for dst in FLOATS + ("bool",):
            case("convert", lambda v, d=dst: lax.convert_element_type(v, d), [x], {"dtype": dst}, exact=True)
        for dst in INTS:  # only in range: what lies outside is for the hardware to say
            info = jnp.iinfo(dst)
            good = f[(f > max(info.min - 1, -2.0**62)) & (f < info.max)]
            good = good if info.min < 0 else good[good >= 0]
            case("convert", lambda v, d=dst: lax.convert_element_type(v, d), [jnp.asarray(good, src)], {"dtype": dst})
    for src in INTS:
        info = jnp.iinfo(src)
        x = np.array([info.min, info.min // 3, 0, 1, 77, info.max // 5, info.max], src)
        for dst in INTS + ("bool", "float32", "float64", "bfloat16"):
            case("convert", lambda v, d=dst: lax.convert_element_type(v, d), [x], {"dtype": dst}, exact=True)
    for dst in ("int32", "uint8", "float32", "bfloat16"):
        case("convert", lambda v, d=dst: lax.convert_element_type(v, d), [np.array([True, False])], {"dtype": dst})
    ties = np.float32([1.00390625, 1.01171875, 3.3895314e38, 1e-40, 65519.0, 65520.0, 6e-8, 2.9802322e-8])
    for dst in ("bfloat16", "float16"):
        case("convert", lambda v, d=dst: lax.convert_element_type(v, d), [ties], {"dtype": dst}, exact=True)


def convolutions():
    def conv(lhs, rhs, dims, strides, padding, ld=None, rd=None, groups=1, batch_groups=1):
        n = len(strides)
        dn = lax.conv_dimension_numbers(lhs.shape, rhs.shape, dims)
        name = padding if isinstance(padding, str) else "explicit"
        if isinstance(padding, str):
            spatial = [lhs.shape[i] for i in dn.lhs_spec[2:]]
            kernel = [(rhs.shape[i] - 1) * r + 1 for i, r in zip(dn.rhs_spec[2:], rd or [1] * n)]
            padding = [list(map(int, p)) for p in lax.padtype_to_pads(spatial, kernel, strides, padding)]
        case("conv", lambda a, b: lax.conv_general_dilated(a, b, strides, padding, ld, rd, dims, groups, batch_groups), [lhs, rhs],
             {"strides": strides, "padding": padding, "padding_name": name, "lhs_dilation": ld or [1] * n, "rhs_dilation": rd or [1] * n,
              "feature_groups": groups, "batch_groups": batch_groups, "lhs": dims[0], "rhs": dims[1], "out": dims[2]})

    one = ("NWC", "WIO", "NWC")
    two = ("NHWC", "HWIO", "NHWC")
    first = ("NCHW", "OIHW", "NCHW")
    for padding in ("SAME", "VALID", [[2, 0]], [[-1, 3]]):
        for stride in ([1], [2], [3]):
            conv(whole(2, 9, 3), whole(4, 3, 2), one, stride, padding)
    conv(whole(1, 7, 2), whole(3, 2, 4), one, [1], [[1, 1]], ld=[2], rd=[2])
    for padding in ("SAME", "VALID", [[1, 2], [0, 1]]):
        for strides in ([1, 1], [2, 1], [2, 2]):
            conv(whole(2, 6, 5, 2), whole(3, 2, 2, 3), two, strides, padding)
    conv(whole(1, 5, 5, 2), whole(3, 3, 2, 2), two, [1, 1], [[2, 2], [1, 3]], ld=[2, 3])
    conv(whole(1, 8, 7, 2), whole(2, 3, 2, 2), two, [1, 2], "SAME", rd=[3, 2])
    conv(whole(1, 4, 4, 2), whole(3, 3, 2, 2), two, [2, 1], [[3, 1], [0, 2]], ld=[2, 2], rd=[2, 1])
    conv(whole(2, 5, 5, 4), whole(3, 3, 2, 6), two, [1, 1], "SAME", groups=2)
    conv(whole(2, 5, 5, 3), whole(3, 3, 1, 6), two, [1, 1], "VALID", groups=3)
    conv(whole(4, 5, 5, 2), whole(3, 3, 2, 6), two, [1, 1], "VALID", batch_groups=2)
    conv(whole(2, 3, 6, 5), whole(4, 3, 3, 2), first, [2, 2], "SAME")
    conv(normal(2, 6, 6, 3), normal(3, 3, 3, 4), two, [1, 1], "SAME")
    conv(normal(2, 6, 6, 3, dtype=np.float64), normal(3, 3, 3, 4, dtype=np.float64), two, [1, 1], "SAME")
    conv(whole(1, 3, 3, 3, 1), whole(2, 2, 2, 1, 2), ("NDHWC", "DHWIO", "NDHWC"), [1, 1, 1], "VALID")
    conv(whole(2, 4, 3), whole(1, 3, 5), one, [1], "VALID")


def windows():
    kinds = {"max": (lax.max, -np.inf), "min": (lax.min, np.inf), "sum": (lax.add, 0.0), "prod": (lax.mul, 1.0)}

    def window(kind, x, size, strides, padding, base=None, dil=None):
        f, init = kinds[kind]
        n = len(size)
        case("reduce_window", lambda v: lax.reduce_window(v, np.asarray(init, x.dtype), f, size, strides, padding, base, dil), [x],
             {"kind": kind, "window": size, "strides": strides, "padding": padding, "base_dilation": base or [1] * n, "window_dilation": dil or [1] * n})

    for kind in kinds:
        x = whole(2, 6, 5, 2, low=1, high=5)
        window(kind, x, [1, 2, 2, 1], [1, 2, 2, 1], [[0, 0]] * 4)
        window(kind, x, [1, 3, 2, 1], [1, 1, 2, 1], [[0, 0], [1, 1], [0, 1], [0, 0]])
        window(kind, x, [1, 2, 2, 1], [1, 1, 1, 1], [[0, 0]] * 4, None, [1, 2, 3, 1])
    window("max", whole(7), [3], [2], [[0, 0]], [2], [2])
    window("sum", whole(9), [4], [1], [[3, 0]])
    x = np.float32([1, np.nan, 3, 2, -1, 0])
    window("max", x, [2], [1], [[0, 0]])


def indexing():
    x = whole(5, 3, 2)
    idx = np.int32([[0, 4, 2], [-1, 7, -9]])
    for mode in ("clip", "fill", "wrap"):
        for axis in (0, 1):
            case("take", lambda a, i, m=mode, ax=axis: jnp.take(a, i, axis=ax, mode=m), [x, idx], {"axis": axis, "mode": mode})
    case("take", lambda a, i: jnp.take(a, i, axis=0, mode="fill"), [whole(4, 2, dtype=np.int32), np.int32([0, 9])], {"axis": 0, "mode": "fill"})
    case("take_along_axis", lambda a, i: jnp.take_along_axis(a, i, 1), [whole(3, 4), np.int32([[3, 0], [1, 1], [2, -1]])], {"axis": 1})
    case("take_along_axis", lambda a, i: jnp.take_along_axis(a, i, 0), [whole(3, 4), np.int32([[2, 0, 1, 1]])], {"axis": 0})
    for kind in ("set", "add", "max", "min", "multiply"):
        for mode in ("drop", "clip"):
            i = np.int32([1, 4, 9, -1, 0]) if kind == "set" else np.int32([1, 4, 9, 1, 1, -1])
            if kind == "set" and mode == "clip":
                i = np.int32([1, 9, 2, -5])
            u = whole(len(i), 3)
            attr = {"kind": "mul" if kind == "multiply" else kind, "mode": mode}
            case("at", lambda a, j, v, k=kind, m=mode: getattr(a.at[j], k)(v, mode=m), [whole(5, 3), i, u], attr)
    case("at", lambda a, j, v: a.at[j].add(v), [whole(6, dtype=np.int32), np.int32([0, 0, 5, 6, -1]), whole(5, dtype=np.int32)], {"kind": "add", "mode": "drop"})

    def numbers(d):
        return {"offset_dims": list(d.offset_dims), "collapsed_slice_dims": list(d.collapsed_slice_dims), "start_index_map": list(d.start_index_map),
                "operand_batching_dims": list(d.operand_batching_dims), "start_indices_batching_dims": list(d.start_indices_batching_dims)}

    G = lax.GatherDimensionNumbers
    for x, i, d, sizes in (
            (whole(6, 4), np.int32([[0], [5], [3], [9], [-2]]), G((1,), (0,), (0,)), (1, 4)),
            (whole(6, 4), np.int32([[0, 1], [5, 3], [4, 2]]), G((1, 2), (), (0, 1)), (2, 2)),
            (whole(6, 4), np.int32([[[0, 1]], [[5, 3]]]), G((), (0, 1), (0, 1)), (1, 1)),
            (whole(3, 5, 2), np.int32([[[4], [0]], [[1], [1]], [[2], [7]]]), G((2,), (1,), (1,), (0,), (0,)), (1, 1, 2)),
            (whole(4, 3, 5), np.int32([[2, 0], [1, 3]]), G((0, 2), (1,), (1, 2)), (4, 1, 2))):
        for mode in ("clip", "fill"):
            case("gather", lambda a, j, d=d, s=sizes, m=mode: lax.gather(a, j, d, s, mode=m), [x, i],
                 {**numbers(d), "slice_sizes": list(sizes), "mode": mode})

    S = lax.ScatterDimensionNumbers
    kinds = {"set": lax.scatter, "add": lax.scatter_add, "min": lax.scatter_min, "max": lax.scatter_max, "mul": lax.scatter_mul}
    for x, i, u, d in (
            (whole(6, 4), np.int32([[0], [5], [3], [9], [-2]]), whole(5, 4), S((1,), (0,), (0,))),
            (whole(6, 4), np.int32([[0, 0], [4, 2], [5, 3]]), whole(3, 2, 2), S((1, 2), (), (0, 1))),
            (whole(3, 5, 2), np.int32([[[4], [0]], [[1], [2]], [[2], [7]]]), whole(3, 2, 2), S((2,), (1,), (1,), (0,), (0,)))):
        for kind, f in kinds.items():
            for mode in ("drop", "clip"):
                if kind == "set" and mode == "clip":
                    continue  # clamped indices collide, and the order of colliding writes is open
                case("scatter", lambda a, j, v, d=d, f=f, m=mode: f(a, j, v, d, mode=m), [x, i, u],
                     {"kind": kind, "mode": mode, "update_window_dims": list(d.update_window_dims), "inserted_window_dims": list(d.inserted_window_dims),
                      "scatter_dims_to_operand_dims": list(d.scatter_dims_to_operand_dims), "operand_batching_dims": list(d.operand_batching_dims),
                      "scatter_indices_batching_dims": list(d.scatter_indices_batching_dims)})

    x = whole(4, 5)
    for starts in ([0, 0], [1, 2], [3, 4], [-2, 9]):
        s = np.int32(starts)
        case("dynamic_slice", lambda a, b: lax.dynamic_slice(a, list(b), (2, 3)), [x, s], {"sizes": [2, 3]})
        case("dynamic_update_slice", lambda a, u, b: lax.dynamic_update_slice(a, u, list(b)), [x, whole(2, 3), s])
    for config in ([[1, 2, 0], [0, 0, 1]], [[-1, 1, 0], [2, -2, 0]], [[0, 0, 2], [-1, -1, 1]], [[3, -1, 1], [0, 0, 0]]):
        case("pad", lambda a, v, c=config: lax.pad(a, v, [tuple(p) for p in c]), [x, np.float32(9)], {"config": config})


def reductions():
    x = whole(3, 4, 2)
    kinds = {"sum": jnp.sum, "prod": jnp.prod, "max": jnp.max, "min": jnp.min}
    for kind, f in kinds.items():
        for axes in ([0], [1], [2], [0, 2], [0, 1, 2]):
            case("reduce", lambda a, f=f, ax=axes: f(a, axis=tuple(ax)), [x if kind != "prod" else np.clip(x, -2, 2)], {"kind": kind, "axes": axes})
    n = np.float32([[1, np.nan, 2], [-np.inf, 0, np.inf]])
    for kind, f in kinds.items():
        case("reduce", lambda a, f=f: f(a, axis=1), [n], {"kind": kind, "axes": [1]})
    for kind in ("sum", "prod"):
        case("reduce", lambda a, f=kinds[kind]: f(a, axis=0), [np.zeros((0, 3), np.float32)], {"kind": kind, "axes": [0]})
    b = RNG.random((4, 3)) < 0.5
    for kind, f in {"and": lax.reduce_and, "or": lax.reduce_or, "xor": lax.reduce_xor}.items():
        case("reduce", lambda a, f=f: f(a, axes=(0,)), [b], {"kind": kind, "axes": [0]})
        case("reduce", lambda a, f=f: f(a, axes=(1,)), [whole(3, 4, low=0, high=99, dtype=np.uint8)], {"kind": kind, "axes": [1]})
    cums = {"cumsum": lax.cumsum, "cumprod": lax.cumprod, "cummax": lax.cummax, "cummin": lax.cummin, "cumlogsumexp": lax.cumlogsumexp}
    for name, f in cums.items():
        for axis in (0, 1):
            for reverse in (False, True):
                x = normal(4, 5) if name == "cumlogsumexp" else whole(4, 5, low=-3, high=4)
                case(name, lambda a, f=f, ax=axis, r=reverse: f(a, axis=ax, reverse=r), [x], {"axis": axis, "reverse": reverse})
    case("cumlogsumexp", lambda a: lax.cumlogsumexp(a, axis=0), [np.float32([-np.inf, -np.inf, 0, 100, -200, np.inf])], {"axis": 0, "reverse": False})
    ties = np.float32([[1, 3, 3, 2], [5, 5, 5, 5], [np.nan, 1, np.nan, 9], [-0.0, 0.0, -1, -1]])
    for name, f in {"argmax": jnp.argmax, "argmin": jnp.argmin}.items():
        for axis in (0, 1):
            case(name, lambda a, f=f, ax=axis: f(a, axis=ax), [ties], {"axis": axis})
        case(name, lambda a, f=f: f(a, axis=0), [np.int32([4, 9, 9, 4])], {"axis": 0})
        case(name, lambda a, f=f: f(a, axis=0), [np.array([False, True, False, True])], {"axis": 0})


def sorting():
    x = np.float32([[3, 1, 2, 1, np.nan, -np.inf, 0.0, -0.0], [5, np.inf, -5, 5, np.nan, 4, 4, 4]])
    case("sort", lambda a: lax.sort(a, dimension=1), [x], {"axis": 1, "num_keys": 1, "stable": True})
    case("sort", lambda a: lax.sort(a, dimension=0), [x], {"axis": 0, "num_keys": 1, "stable": True})
    keys = whole(12, low=0, high=4, dtype=np.int32)
    second = whole(12, low=0, high=3, dtype=np.int32)
    tag = np.arange(12, dtype=np.float32)
    for k in (1, 2):
        case("sort", lambda a, b, c, k=k: lax.sort((a, b, c), num_keys=k), [keys, second, tag], {"axis": 0, "num_keys": k, "stable": True})
    case("sort", lambda a, b: lax.sort((a, b), dimension=0), [whole(5, 3, low=0, high=3, dtype=np.uint32), whole(5, 3)], {"axis": 0, "num_keys": 1, "stable": True})
    case("sort", lambda a, b: lax.sort((a, b)), [np.float32([0.0, -0.0, np.nan, 1, -np.nan, -0.0, 0.0]), np.arange(7, dtype=np.int32)],
         {"axis": 0, "num_keys": 1, "stable": True})
    for k in (1, 3, 5):
        case("top_k", lambda a, k=k: lax.top_k(a, k), [np.float32([[1, 9, 3, 9, 2], [0, -1, 0, 0, 7], [np.inf, 2, -np.inf, 2, 2]])], {"k": k})
    case("top_k", lambda a: lax.top_k(a, 3), [np.int32([3, 3, 1, 7, 3])], {"k": 3})


def contractions():
    for a, b, contract, batch in (
            ((3, 4), (4, 5), ([1], [0]), ([], [])), ((3, 4), (5, 4), ([1], [1]), ([], [])), ((4,), (4,), ([0], [0]), ([], [])),
            ((2, 3, 4), (2, 4, 5), ([2], [1]), ([0], [0])), ((3, 2, 4), (4, 5, 2), ([2], [0]), ([1], [2])),
            ((2, 3, 4, 5), (3, 5, 2, 6), ([3], [1]), ([0, 1], [2, 0])), ((2, 3, 4), (4, 3, 5), ([1, 2], [1, 0]), ([], [])),
            ((2, 3), (4, 5), ([], []), ([], [])), ((2, 3), (2,), ([], []), ([0], [0])), ((3, 0), (0, 2), ([1], [0]), ([], []))):
        case("dot_general", lambda x, y, c=contract, d=batch: lax.dot_general(x, y, (c, d)), [whole(*a), whole(*b)],
             {"contract": [list(c) for c in contract], "batch": [list(d) for d in batch]})
    for dtype in (np.int32, np.float64):
        case("dot_general", lambda x, y: lax.dot_general(x, y, (([1], [0]), ([], []))), [whole(3, 4, dtype=dtype), whole(4, 2, dtype=dtype)],
             {"contract": [[1], [0]], "batch": [[], []]})
    for equation, *shapes in (
            ("ij,jk->ik", (3, 4), (4, 2)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("ij->ji", (2, 3)), ("ii->i", (4, 4)), ("ii", (4, 4)),
            ("ij->", (3, 4)), ("ij->j", (3, 4)), ("i,j->ij", (3,), (4,)), ("ij,ij->i", (3, 4), (3, 4)), ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
            ("abc,cd,d->ab", (2, 3, 4), (4, 5), (5,)), ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 2)), ("bi,oi->bo", (3, 4), (5, 4)), ("ij,jk", (2, 3), (3, 4)),
            ("i,i->", (5,), (5,)), ("ijk,ilk,ik->jl", (2, 3, 4), (2, 5, 4), (2, 4))):
        case("einsum", lambda *xs, e=equation: jnp.einsum(e, *xs), [whole(*s, low=-4, high=5) for s in shapes], {"equation": equation})
    dimensions = (((2,), (1,)), ((0,), (2,)))
    attrs = {"contract": [list(c) for c in dimensions[0]], "batch": [list(b) for b in dimensions[1]]}
    for dtype, preferred in (("bfloat16", "float32"), ("float16", "float32"), ("bfloat16", "float64"), ("float32", "float64"), ("int8", "int32"),
                             ("int8", "int16"), ("uint8", "uint32"), ("int16", "int64")):
        def dot(x, y, to=preferred):
            return lax.dot_general(x, y, dimensions, preferred_element_type=to)

        if dtype.endswith("int8"):
            low, high = jnp.iinfo(dtype).min, jnp.iinfo(dtype).max
            inputs = [whole(2, 3, 7, low=low, high=high + 1, dtype=dtype), whole(4, 7, 2, low=low, high=high + 1, dtype=dtype)]
            inputs[0][0, 0], inputs[1][0, :, 0] = low, low
            inputs[0][1, 2], inputs[1][3, :, 1] = high, low
        else:
            inputs = [whole(2, 3, 7).astype(dtype), whole(4, 7, 2).astype(dtype)]
        case("dot_general", dot, inputs, {**attrs, "dtype": preferred}, exact=True)
        if "float" in dtype:
            case("dot_general_vjp", lambda x, y, ct: jax.vjp(dot, x, y)[1](ct), inputs + [whole(2, 3, 4).astype(preferred)],
                 {**attrs, "dtype": preferred}, exact=True)


def promotions():
    pairs, scalars = [], []
    for x64 in (False, True):
        dtypes = [d for d in ("bool",) + INTS + ("float16", "bfloat16", "float32", "float64") if x64 or not d.endswith("64")]
        with jax.enable_x64(x64):
            for a in dtypes:
                x = jnp.ones((2,), a)
                for b in dtypes:
                    pairs.append({"a": a, "b": b, "x64": x64, "out": str((x + jnp.ones((2,), b)).dtype)})
                for name, s in (("bool", True), ("int", 1), ("float", 1.0)):
                    scalars.append({"a": a, "scalar": name, "x64": x64, "out": str((x + s).dtype)})
    return pairs, scalars


def main():
    out = out_dir(__doc__)
    elementwise()
    integers()
    conversions()
    convolutions()
    windows()
    indexing()
    reductions()
    sorting()
    contractions()
    pairs, scalars = promotions()
    write(os.path.join(out, "jax_ops.json.gz"), {"versions": versions(), "cases": CASES, "promotion": pairs, "scalar_promotion": scalars})
    print(f"  {len(CASES)} cases of {len({c['op'] for c in CASES})} ops")


main()
