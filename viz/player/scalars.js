// Scalars and the ops on them: sections 1 and 5 (S5) of docs/semantics.md. A value is { dtype, data }: the data of an
// integer is a BigInt, of a float a number, of a bool true or false.
//
// All results are those of the other machines, bit for bit, except of the ops in `INEXACT`: their functions are those of
// the browser, or series computed with these, and their last bits differ.

const FLOAT64 = "float64", FLOAT32 = "float32", BOOL = "bool";
const kindOf = (dtype) => (dtype.startsWith("uint") ? "u" : dtype.includes("float") ? "f" : dtype[0]);
const bitsOf = (dtype) => Number(dtype.replace(/\D/g, ""));
const truth = (data) => ({ dtype: BOOL, data });
const int64 = (number) => ({ dtype: "int64", data: BigInt(number) });

// A trap, or another end of a run. `status` is one of S12.
class Stop extends Error {
  constructor(status, rule, message) { super(message); Object.assign(this, { status, rule }); }
}

const trap = (message) => { throw new Stop("Trapped", "S5", message); };
const refuse = (message) => { throw new Stop("Broken", "V9", message); };

// The floats of 16 bits: the bits of the significand, the leading one included, and the exponents of the smallest
// normal number and of the largest one.
const NARROW = { float16: [11, -14, 15], bfloat16: [8, -126, 127] };

// A float rounded to 16 bits, ties to even; infinite beyond the range.
function roundNarrow(x, [bits, low, high]) {
  const size = Math.abs(x);
  if (!Number.isFinite(x) || size >= 2 ** (high + 1)) return Math.sign(x) * Infinity;
  let exponent = low;
  for (; size >= 2 ** (exponent + 1); exponent++);
  const shift = 1.5 * 2 ** (exponent - bits + 53), rounded = size + shift - shift;
  return (isMinus(x) ? -1 : 1) * (rounded < 2 ** (high + 1) ? rounded : Infinity);
}

// The float of a dtype that is nearest to x.
function toDtype(x, dtype) {
  if (dtype in NARROW) return roundNarrow(x, NARROW[dtype]);
  return dtype === FLOAT32 ? Math.fround(x) : x;
}

// A number in a dtype: an integer wraps, a float is rounded, to 16 bits from float32.
function fit(data, dtype) {
  switch (kindOf(dtype)) {
    case "i": return BigInt.asIntN(bitsOf(dtype), data);
    case "u": return BigInt.asUintN(bitsOf(dtype), data);
    case "f": return toDtype(dtype in NARROW ? Math.fround(data) : data, dtype);
    default: return data;
  }
}

// The dtype in which an op on two operands computes.
function promote(a, b) {
  if (a === b) return a;
  if (a in NARROW && b in NARROW) return FLOAT32;
  const [kindA, kindB] = [kindOf(a), kindOf(b)], [wide, narrow] = bitsOf(a) >= bitsOf(b) ? [a, b] : [b, a];
  if (kindA === kindB && kindA !== "b") return wide;
  const [signed, unsigned] = kindA === "i" ? [a, b] : [b, a];
  if (kindOf(signed) !== "i" || kindOf(unsigned) !== "u" || bitsOf(unsigned) === 64) refuse(`${a} and ${b} do not promote`);
  return bitsOf(signed) > bitsOf(unsigned) ? signed : `int${2 * bitsOf(unsigned)}`;
}

const isSame = (a, b) => a.dtype === b.dtype && (a.cells ? a.cells === b.cells : Object.is(a.data, b.data));

// Integers

const floorQuotient = (x, y) => (x % y !== 0n && x < 0n !== y < 0n ? x / y - 1n : x / y);
const floorRemainder = (x, y) => x - floorQuotient(x, y) * y;

// Square and multiply, modulo 2^64.
function integerPower(x, y) {
  let product = 1n;
  for (; y > 0n; y >>= 1n) {
    if (y & 1n) product = BigInt.asUintN(64, product * x);
    x = BigInt.asUintN(64, x * x);
  }
  return product;
}

// Floats

const copySign = (x, y) => (isMinus(x) === isMinus(y) ? x : -x);
const isMinus = (x) => x < 0 || Object.is(x, -0);
const isWhole = (x) => Number.isInteger(x);

// Python's remainder and its quotient, rounded down.
function floatRemainder(x, y) {
  const rest = x % y;
  return rest ? (rest < 0 !== y < 0 ? rest + y : rest) : rest === 0 ? copySign(0, y) : NaN;
}

function floatQuotient(x, y) {
  if (y === 0) return x / y;
  const rest = x % y, quotient = (x - rest) / y - (rest && rest < 0 !== y < 0 ? 1 : 0);
  if (quotient === 0) return copySign(0, x / y);
  const whole = Math.floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

// C's pow, which has 1 where JavaScript has NaN.
function power(x, y) {
  return x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : Math.pow(x, y);
}

// To the nearest whole number, ties to even: no bits are left for a fraction beside 2^52.
function roundHalfEven(x) {
  if (!(Math.abs(x) < 2 ** 52)) return x;
  return copySign(Math.abs(x) + 2 ** 52 - 2 ** 52, x);
}

function logaddexp(x, y) {
  if (x === y) return x + Math.LN2;
  const difference = x - y;
  return difference > 0 ? x + Math.log1p(Math.exp(-difference)) : y + Math.log1p(Math.exp(difference));
}

// Borges, "An improved algorithm for hypot(a, b)", 2019: exactly rounded operations only, the same bits everywhere.
function hypot(x, y) {
  const [first, second] = [Math.abs(x), Math.abs(y)];
  if (first === Infinity || second === Infinity) return Infinity;
  const [large, small] = first >= second ? [first, second] : [second, first];
  if (Number.isNaN(large) || Number.isNaN(small)) return NaN;
  if (small <= large * 2 ** -54) return large + small;
  if (large > 2 ** 511) return hypotInRange(large * 2 ** -600, small * 2 ** -600) * 2 ** 600;
  if (small < 2 ** -459) return hypotInRange(large * 2 ** 600, small * 2 ** 600) * 2 ** -600;
  return hypotInRange(large, small);
}

function hypotInRange(large, small) {
  const length = Math.sqrt(large * large + small * small);
  if (length <= 2 * small) {
    const excess = length - small;
    return length - (large * (2 * excess - large) + (excess - 2 * (large - small)) * excess) / (2 * length);
  }
  const excess = length - large;
  return length - (2 * excess * (large - 2 * small) + ((4 * excess - small) * small + excess * excess)) / (2 * length);
}

// Special functions: Cody, "Rational Chebyshev approximations for the error function", 1969; Wichura, AS 241, 1988;
// Abramowitz and Stegun, Handbook of Mathematical Functions, 6.1, 6.3, 6.4 and 23.1.30.

const polynomial = (x, coefficients) => coefficients.reduce((sum, coefficient) => sum * x + coefficient, 0);
const rational = (x, above, below) => polynomial(x, above) / polynomial(x, below);

const ERF_NEAR = [
  [1.85777706184603153e-1, 3.1611237438705656, 1.13864154151050156e2, 3.77485237685302021e2, 3.20937758913846947e3],
  [1, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3],
];
const ERFC_MIDDLE = [
  [2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1, 2.98635138197400131e2,
    8.8195222124176909e2, 1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3],
  [1, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3, 3.29079923573345963e3,
    4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3],
];
const ERFC_FAR = [
  [1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1, 1.60837851487422766e-2,
    6.58749161529837803e-4],
  [1, 2.56852019228982242, 1.87295284992346725, 5.27905102951428412e-1, 6.05183413124413191e-2, 2.33520497626869185e-3],
];
const INVERSE_SQRT_PI = 0.5641895835477563;

function erf(x) {
  const size = Math.abs(x);
  if (size <= 0.46875) return x * rational(x * x, ...ERF_NEAR);
  return copySign(1 - erfcBeyond(size), x);
}

function erfc(x) {
  const size = Math.abs(x);
  if (size <= 0.46875) return 1 - x * rational(x * x, ...ERF_NEAR);
  return x < 0 ? 2 - erfcBeyond(size) : erfcBeyond(size);
}

// erfc above 0.46875. The square of x in two parts, so that its rounding does not count in the exponent.
function erfcBeyond(x) {
  if (x > 27) return 0;
  const head = Math.trunc(x * 16) / 16, factor = Math.exp(-head * head) * Math.exp(-(x - head) * (x + head));
  if (x <= 4) return factor * rational(x, ...ERFC_MIDDLE);
  const inverse = 1 / (x * x);
  return (factor * (INVERSE_SQRT_PI - inverse * rational(inverse, ...ERFC_FAR))) / x;
}

const SERIES_AT_2 = [
  3.1044247747322276e-11, -6.4229645638381e-11, 1.330476437424449e-10, -2.7595228851242334e-10, 5.731367241678862e-10,
  -1.1921401405860912e-9, 2.4836745438024785e-9, -5.183475041970047e-9, 1.0838659214896955e-8, -2.2711094608943164e-8,
  4.7698101693639804e-8, -1.0043224823968099e-7, 2.1207184805554665e-7, -4.492469198764566e-7, 9.55141213040742e-7,
  -2.039215753801366e-6, 4.374866789907488e-6, -9.439488275268397e-6, 2.050721277567069e-5, -4.492623673813314e-5,
  9.945751278180853e-5, -0.00022315475845357939, 0.0005096695247430425, -0.001192753911703261, 0.0028905103307415234,
  -0.007385551028673986, 0.020580808427784546, -0.0673523010531981, 0.3224670334241132, 0.42278433509846713,
];
const STIRLING_SERIES = [
  -0.029550653594771242, 0.00641025641025641, -0.0019175269175269176, 0.0008417508417508417, -0.0005952380952380953,
  0.0007936507936507937, -0.002777777777777778, 0.08333333333333333,
];
const DIGAMMA_SERIES = [
  3.0539543302701198, -0.4432598039215686, 0.08333333333333333, -0.021092796092796094, 0.007575757575757576,
  -0.004166666666666667, 0.003968253968253968, -0.008333333333333333, 0.08333333333333333,
];
const EULER_MACLAURIN_SERIES = [
  0.08333333333333333, -0.001388888888888889, 3.306878306878307e-5, -8.267195767195768e-7, 2.08767569878681e-8,
  -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13, 8.586062056277845e-15, -2.174868698558062e-16,
  5.5090028283602295e-18,
];
const CENTRAL_QUANTILE = [
  [2509.0809287301227, 33430.57558358813, 67265.7709270087, 45921.95393154987, 13731.69376550946, 1971.5909503065513,
    133.14166789178438, 3.3871328727963665],
  [5226.495278852855, 28729.085735721943, 39307.89580009271, 21213.794301586597, 5394.196021424751, 687.1870074920579,
    42.31333070160091, 1],
];
const TAIL_QUANTILE = [
  [0.0007745450142783414, 0.022723844989269184, 0.2417807251774506, 1.2704582524523684, 3.6478483247632045,
    5.769497221460691, 4.630337846156546, 1.4234371107496835],
  [1.0507500716444169e-9, 0.0005475938084995345, 0.015198666563616457, 0.14810397642748008, 0.6897673349851,
    1.6763848301838038, 2.053191626637759, 1],
];
const FAR_TAIL_QUANTILE = [
  [2.0103343992922881e-7, 2.7115555687434876e-5, 0.0012426609473880784, 0.026532189526576124, 0.29656057182850487,
    1.7848265399172913, 5.463784911164114, 6.657904643501103],
  [2.0442631033899397e-15, 1.421511758316446e-7, 1.8463183175100548e-5, 0.0007868691311456133, 0.014875361290850615,
    0.1369298809227358, 0.599832206555888, 1],
];

function ndtri(p) {
  if (!(p > 0 && p < 1)) return p === 0 ? -Infinity : p === 1 ? Infinity : NaN;
  const offset = p - 0.5;
  if (Math.abs(offset) <= 0.425) return offset * rational(0.180625 - offset * offset, ...CENTRAL_QUANTILE);
  const root = Math.sqrt(-Math.log(offset < 0 ? p : 1 - p));
  const quantile = root <= 5 ? rational(root - 1.6, ...TAIL_QUANTILE) : rational(root - 5, ...FAR_TAIL_QUANTILE);
  return offset < 0 ? -quantile : quantile;
}

const logGammaAt2 = (t) => polynomial(t, SERIES_AT_2) * t;
const nearest = (x) => (Math.abs(x) < 2 ** 52 ? x + 1.5 * 2 ** 52 - 1.5 * 2 ** 52 : x);

function lgamma(x) {
  if (Number.isNaN(x)) return x;
  if (Math.abs(x) < 0.5) return x ? logGammaAt2(x) - Math.log1p(x) - Math.log(Math.abs(x)) : Infinity;
  if (x > 0) return lgammaFromHalf(x);
  if (x === nearest(x)) return Infinity;
  return Math.log(Math.PI / (Math.abs(Math.sin(Math.PI * (x - nearest(x)))) * -x)) - lgammaFromHalf(-x);
}

function lgammaFromHalf(x) {
  if (x >= 10) return (x - 0.5) * (Math.log(x) - 1) + (0.4189385332046727 + polynomial(1 / x / x, STIRLING_SERIES) / x);
  if (x < 1.5) return logGammaAt2(x - 1) - Math.log1p(x - 1);
  let product = 1;
  for (; x > 2.5; product *= x) x -= 1;
  return Math.log(product) + logGammaAt2(x - 2);
}

function digamma(x) {
  if (Number.isNaN(x) || x === -Infinity) return NaN;
  if (x > 0) return digammaAbove0(x);
  const fraction = x - nearest(x);
  if (fraction === 0) return NaN;
  if (Math.abs(fraction) > 0.25) return digammaAbove0(1 - x) + Math.PI * Math.tan(Math.PI * (fraction - copySign(0.5, fraction)));
  return digammaAbove0(1 - x) - Math.PI / Math.tan(Math.PI * fraction);
}

function digammaAbove0(x) {
  if (x >= 10) {
    const square = 1 / x / x;
    return Math.log(x) - 0.5 / x - polynomial(square, DIGAMMA_SERIES) * square;
  }
  const at2 = (t) => SERIES_AT_2.reduce((sum, coefficient, at) => sum * t + coefficient * (30 - at), 0);
  if (x < 0.5) return at2(x) - 1 / (1 + x) - 1 / x;
  if (x < 1.5) return at2(x - 1) - 1 / x;
  let sum = 0;
  for (; x > 2.5; sum += 1 / x) x -= 1;
  return at2(x - 2) + sum;
}

function polygamma(n, x) {
  if (Number.isNaN(x) || x === -Infinity || !isWhole(n) || n < 0 || n > 170) return NaN;
  if (n === 0) return digamma(x);
  const isOdd = n % 2 === 1, sign = isOdd ? 1 : -1;
  if (x === Infinity) return sign * 0;
  let scale = 1, factorial = 1;
  while (scale * 4 < n && scale * 2 <= x) scale *= 2;
  for (let factor = 1; factor <= n; factor++) factorial *= factor / scale;
  if (x > 0) return sign * factorial * (hurwitzZeta(n + 1, x, scale) / scale);
  const fraction = x - nearest(x);
  if (fraction === 0) return isOdd ? Infinity : NaN;
  const beyond = hurwitzZeta(n + 1, 1 - fraction, scale) - hurwitzZeta(n + 1, 1 - x, scale);
  const sum = power(fraction / scale, -n - 1) + hurwitzZeta(n + 1, 1 + fraction, scale) + sign * beyond;
  return sign * factorial * (sum / scale);
}

// The sum of (scale / (x + k))^s over all k from 0 up: the first terms, and the Euler-Maclaurin formula for the rest.
function hurwitzZeta(s, x, scale) {
  let sum = 0;
  for (; x < s + 10; x += 1) sum += power(x / scale, -s);
  let factor = 1 / x, rising = s, series = 0, order = s;
  for (const coefficient of EULER_MACLAURIN_SERIES) {
    series += coefficient * (rising * factor);
    factor /= x * x;
    rising *= (order + 1) * (order + 2);
    order += 2;
  }
  return sum + power(x / scale, 1 - s) * (scale / (s - 1)) + power(x / scale, -s) * (0.5 + series);
}

// Casts

function astype({ dtype, data }, to) {
  const [from, kind] = [kindOf(dtype), kindOf(to)];
  if (kind === "b") return Boolean(data) || Number.isNaN(data);
  if (kind === "f") return toDtype(Number(data), to);
  if (from !== "f") return BigInt(data);
  if (Number.isNaN(data)) return 0n;
  const top = 2n ** BigInt(bitsOf(to) - (kind === "i")), low = kind === "i" ? -top : 0n;
  return data >= Number(top) ? top - 1n : data <= Number(low) ? low : BigInt(Math.trunc(data));
}

const VIEWS = { i: "Int", u: "Uint", f: "Float" };

function bitcast({ dtype, data }, to) {
  const bytes = new DataView(new ArrayBuffer(8)), wide = bitsOf(dtype) === 64;
  const method = (name) => `${kindOf(name) !== "f" && wide ? "Big" : ""}${VIEWS[kindOf(name)]}${bitsOf(name)}`;
  bytes[`set${method(dtype)}`](0, kindOf(dtype) === "f" || wide ? data : Number(data));
  const result = bytes[`get${method(to)}`](0);
  return kindOf(to) === "f" ? result : BigInt(result);
}

// The table of ops: the kinds of dtypes that operands may have, and the function. Operands have been promoted, the
// condition of `where` excepted. A result is in the promoted dtype, or a bool where `isTest`.

const ROWS = {};

function rows(kinds, functions, columns = {}) {
  for (const name in functions) ROWS[name] = { kinds: kinds.split(" "), compute: functions[name], ...columns };
}

rows("iuf iuf", {
  add: (x, y) => x + y, subtract: (x, y) => x - y, multiply: (x, y) => x * y,
  minimum: (x, y) => (x !== x || x <= y ? x : y), maximum: (x, y) => (x !== x || x >= y ? x : y),
  floor_divide: (x, y) => (typeof x === "number" ? floatQuotient(x, y) : y ? floorQuotient(x, y) : trap("integer division by zero")),
  remainder: (x, y) => (typeof x === "number" ? floatRemainder(x, y) : y ? floorRemainder(x, y) : trap("integer remainder by zero")),
  pow: (x, y) => (typeof x === "number" ? power(x, y) : y < 0n ? trap("integer to a negative power") : integerPower(x, y)),
});
rows("iuf", {
  negative: (x) => -x, abs: (x) => (typeof x === "number" ? Math.abs(x) : x < 0n ? -x : x),
  floor: (x) => (typeof x === "number" ? Math.floor(x) : x), ceil: (x) => (typeof x === "number" ? Math.ceil(x) : x),
  trunc: (x) => (typeof x === "number" ? Math.trunc(x) : x), round: (x) => (typeof x === "number" ? roundHalfEven(x) : x),
  sign: (x) => (typeof x === "number" ? (x > 0 ? 1 : x < 0 ? -1 : x - x) : x > 0n ? 1n : x < 0n ? -1n : 0n),
});
rows("iuf iuf", { less: (x, y) => x < y, less_equal: (x, y) => x <= y, greater: (x, y) => x > y, greater_equal: (x, y) => x >= y }, { isTest: true });
rows("biuf biuf", { equal: (x, y) => x === y, not_equal: (x, y) => x !== y }, { isTest: true });
rows("iuf", { isfinite: (x) => typeof x !== "number" || Number.isFinite(x), isinf: (x) => Math.abs(Number(x)) === Infinity, isnan: (x) => x !== x }, { isTest: true });
rows("f", { signbit: isMinus }, { isTest: true });
rows("f f", {
  divide: (x, y) => x / y, multiply_no_nan: (x, y) => (y !== 0 ? x * y : 0), copysign: copySign, hypot, atan2: Math.atan2, logaddexp, polygamma,
});
rows("biu biu", {
  bitwise_and: (x, y) => (typeof x === "boolean" ? x && y : x & y), bitwise_or: (x, y) => (typeof x === "boolean" ? x || y : x | y),
  bitwise_xor: (x, y) => (typeof x === "boolean" ? x !== y : x ^ y),
});
rows("biu", { bitwise_invert: (x) => (typeof x === "boolean" ? !x : ~x) });
rows("iu iu", {
  bitwise_left_shift: (x, y) => (y < 0n ? trap("shift by a negative number") : y < 64n ? x << y : 0n),
  bitwise_right_shift: (x, y) => (y < 0n ? trap("shift by a negative number") : y < 64n ? x >> y : x < 0n ? -1n : 0n),
});
rows("b b", { logical_and: (x, y) => x && y, logical_or: (x, y) => x || y, logical_xor: (x, y) => x !== y });
rows("b", {
  logical_not: (x) => !x,
  assert: (x, { error = "AssertionError", message = "" }) => x || trap(message ? `${error}: ${message}` : error),
});
rows("f", {
  sqrt: Math.sqrt, cbrt: Math.cbrt, exp: Math.exp, log: Math.log, sin: Math.sin, cos: Math.cos, tanh: Math.tanh, tan: Math.tan,
  asin: Math.asin, acos: Math.acos, atan: Math.atan, sinh: Math.sinh, cosh: Math.cosh, asinh: Math.asinh, acosh: Math.acosh,
  atanh: Math.atanh, expm1: Math.expm1, log1p: Math.log1p, log2: Math.log2, log10: Math.log10, erf, erfc, ndtri, lgamma, digamma,
  prevent_gradient: (x) => x,
});
rows("biuf", { identity: (x) => x, stop_gradient: (x) => x });
rows("biuf", { astype: (x, { dtype }, operand) => astype(operand, dtype) });
rows("iuf", { bitcast: (x, { dtype }, operand) => bitcast(operand, dtype) });
rows("b biuf biuf", { where: (condition, x, y) => (condition ? x : y) });

const INEXACT = new Set([
  "cbrt", "exp", "log", "sin", "cos", "tanh", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "expm1",
  "log1p", "log2", "log10", "pow", "atan2", "logaddexp", "erf", "erfc", "ndtri", "lgamma", "digamma", "polygamma", "normal",
]);

// S5: the result of an ordinary op. A trap, and a breach of V9, throws a Stop.
function compute(op, operands, attributes) {
  const row = ROWS[op];
  if (operands.some(({ dtype }, at) => !(row.kinds[at] || "").includes(kindOf(dtype)))) {
    refuse(`${op} does not take ${operands.map(({ dtype }) => dtype).join(", ")}`);
  }
  if (attributes.dtype) return { dtype: attributes.dtype, data: fit(row.compute(operands[0].data, attributes, operands[0]), attributes.dtype) };
  const [left, right = left] = operands.slice(-2), dtype = promote(left.dtype, right.dtype);
  const data = row.compute(...operands.map((operand) => operand.data), attributes);
  return row.isTest ? truth(data) : { dtype, data: fit(data, dtype) };
}

// Values as JSON, as docs/json.md says, and as text

const NAMED = { inf: Infinity, "-inf": -Infinity, nan: NaN };

function readValue({ dtype, data }) {
  const kind = kindOf(dtype);
  return { dtype, data: kind === "b" ? data : kind === "f" ? (data in NAMED ? NAMED[data] : Number(data)) : BigInt(data) };
}

function writeValue({ dtype, data }) {
  if (typeof data === "bigint") return { dtype, data: data > 2n ** 53n || data < -(2n ** 53n) ? String(data) : Number(data) };
  return { dtype, data: typeof data === "number" && !Number.isFinite(data) ? floatText(data) : data };
}

// JSON text; JSON.stringify has 0 for -0.
function writeJson(form) {
  if (Object.is(form, -0)) return "-0.0";
  if (typeof form === "bigint") return String(form);
  if (Array.isArray(form)) return `[${form.map(writeJson).join(",")}]`;
  if (form === null || typeof form !== "object") return JSON.stringify(form);
  return `{${Object.keys(form).map((key) => `${JSON.stringify(key)}:${writeJson(form[key])}`).join(",")}}`;
}

// The shortest digits that restore the float, laid out as Python does.
function floatText(x, dtype = FLOAT64) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "nan" : x < 0 ? "-inf" : "inf";
  const size = Math.abs(x), sign = isMinus(x) ? "-" : "";
  let text = size.toExponential();
  for (let digits = 0; dtype !== FLOAT64 && digits < 9; digits++) {
    text = size.toExponential(digits);
    if (toDtype(Number(text), dtype) === size) break;
  }
  const [mantissa, power10] = text.split("e"), exponent = Number(power10), digits = mantissa.replace(".", "");
  if (exponent < -4 || exponent >= 16) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : "";
    return `${sign}${digits[0]}${fraction}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}

// A number as a literal, without its dtype.
const numberText = ({ dtype, data }) => (typeof data === "number" ? floatText(data, dtype) : String(data));

// A value as a literal of the text form, which includes its type.
function valueText(value) {
  if (value.cells) return `cells[${value.size}]`;
  return ["bool", "int64", "float64"].includes(value.dtype) ? numberText(value) : `${value.dtype}(${numberText(value)})`;
}

// The value that a text means in a dtype; an Error says what is wrong.
function parseValue(text, dtype) {
  const [kind, word] = [kindOf(dtype), text.trim().replace(/^u?int\d+\((.*)\)$|^b?float\d+\((.*)\)$/, "$1$2")];
  if (kind === "b") {
    if (word === "true" || word === "false") return truth(word === "true");
    throw new Error(`${JSON.stringify(text)} is no bool: write true or false`);
  }
  if (kind === "f") {
    if (word in NAMED) return { dtype, data: NAMED[word] };
    if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(word)) return { dtype, data: toDtype(Number(word), dtype) };
    throw new Error(`${JSON.stringify(text)} is no ${dtype}: write 2.5, 1e-3, inf or nan`);
  }
  if (!/^[+-]?\d{1,40}$/.test(word)) throw new Error(`${JSON.stringify(text)} is no ${dtype}: write a whole number`);
  const number = BigInt(word.replace("+", ""));
  if (fit(number, dtype) !== number) throw new Error(`${word} is out of the range of ${dtype}`);
  return { dtype, data: number };
}

module.exports = {
  BOOL, INEXACT, ROWS, Stop, compute, fit, int64, isSame, kindOf, numberText, parseValue, readValue, refuse, trap, truth, valueText, writeJson, writeValue,
};
