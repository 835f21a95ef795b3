"""Exported programs of PyTorch: they compute what PyTorch computes."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

if find_spec("torch") is None:
    pytest.skip("PyTorch is not installed", allow_module_level=True)

import tagloom as tl
import torch
from support.programs.torch_exports import exported, floats, outcome_matches
from torch.nn import functional as F  # noqa: N812

CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {}


X, Y, V, P = floats(3, 4), floats(3, 4) + 2, floats(5), floats(3, 4).abs() + 0.1
J, D = torch.tensor([7, -7, 6, -6, 0]), torch.tensor([2, 2, -4, -3, 5])
B, C = torch.tensor([True, False, True, False, True]), torch.tensor([True, True, False, False, True])
IMAGE, KERNEL, SQUARE = floats(2, 3, 6, 5), floats(4, 3, 3, 2), torch.eye(3) * 3 + floats(3, 3) * 0.1
LOGITS, CLASSES = floats(4, 3), torch.tensor([0, 2, 1, 2])


def case(*arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function, or a module, with its arguments."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES[function.__name__] = function, arguments
        return function

    return register


for _name in ("acos", "asin", "atanh", "erfinv"):
    if _name != "erfinv":
        case(torch.tensor([0.1, 0.5, -0.9]))(getattr(torch, _name))
for _name in ("abs", "acosh", "asinh", "atan", "ceil", "cos", "cosh", "deg2rad", "digamma", "erf", "erfc", "exp",
              "exp2", "expm1", "floor", "frac", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "lgamma", "log",
              "log10", "log1p", "log2", "logical_not", "logit", "neg", "positive", "rad2deg", "reciprocal", "relu",
              "round", "rsqrt", "sigmoid", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
              "nan_to_num", "isreal", "softmax_rows", "cumsum_rows"):  # fmt: skip
    if hasattr(torch, _name):
        case(P + 1)(getattr(torch, _name))
for _name in ("celu", "elu", "gelu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "logsigmoid",
              "mish", "relu6", "selu", "silu", "softplus", "softshrink", "softsign", "tanhshrink"):  # fmt: skip
    case(X)(getattr(F, _name))
for _name in ("add", "atan2", "copysign", "div", "eq", "floor_divide", "fmax", "fmin", "fmod", "ge", "gt", "heaviside",
              "hypot", "isclose", "le", "logaddexp", "logaddexp2", "lt", "maximum", "minimum", "mul", "ne", "nextafter",
              "remainder", "sub", "xlogy", "logical_and", "logical_or", "logical_xor"):  # fmt: skip
    case(X, Y)(getattr(torch, _name))


@case(X)
def softmaxes(x):
    return (F.softmax(x, 1), F.log_softmax(x, 0), F.softmin(x, 1), torch.logsumexp(x, (0, 1)), F.glu(x, 1),
            F.threshold(x, 0.1, 9.0), F.prelu(x, torch.tensor([0.25])), F.softplus(x, 2.0), F.elu(x, 0.5),
            F.gelu(x, approximate="tanh"), F.hardtanh(x, -0.5, 0.5), F.leaky_relu(x, 0.3),
            F.normalize(x, dim=1))  # fmt: skip


@case(J, D)
def integers(i, d):
    return (i + d, i - d, i * d, i / d, i // d, i % d, torch.fmod(i, d), torch.div(i, d, rounding_mode="trunc"),
            i & d, i | d, i ^ d, ~i, i << 1, i >> 1, i.abs(), -i, i.sign(), i ** 2, i > d, i.float() / 2, i +
            1.5, i * True, torch.clamp(i, -3, 4), i.sin(), i.sum(), i.prod(), i.to(torch.int8) + i, i.bool(), 3
            - i)  # fmt: skip


@case(B, C)
def bools(b, c):
    return b & c, b | c, b ^ c, ~b, b + c, b * c, b.sum(), b.any(), b.all(), b == c, b.float(), b.int() - 1, b > 0


@case(X, torch.tensor(2), torch.tensor(0.5, dtype=torch.float64))
def promotion(x, n, s):
    return x + n, x * s, n + s, x + 1, n / 2, n + 1.5, x > n, torch.where(x > 0, x, n), n * True, x.double() + x


@case(X, Y)
def mixed(x, y):
    return (torch.lerp(x, y, 0.3), torch.addcmul(x, x, y, value=0.5), torch.addcdiv(x, x, y, value=2),
            x.clamp(0.1), x.clamp(max=0.2), x.clamp(x * 0.5, y), torch.where(x > 0, 1.0, x), x.masked_fill(x >
            0, -1.0), x ** 3, 2 ** x, x.pow(0.0), torch.rsub(x, y, alpha=2), torch.add(x, y, alpha=3),
            x.round(decimals=1), torch.nan_to_num(x / (x - x), 0.0, 1.0, 2.0), torch.max(x, y), torch.min(x, y),
            x.type_as(y))  # fmt: skip


@case(X)
def creation(x):
    return (torch.zeros(2, 3), torch.ones(3, dtype=torch.int32), torch.full((2,), 7), torch.arange(5),
            torch.eye(3), torch.arange(1, 2, 0.25), torch.linspace(0, 1, 5), torch.zeros_like(x),
            x.new_full((2,), 3.0), torch.tril(x), torch.triu(x, 1), torch.tril_indices(3, 3),
            torch.scalar_tensor(3), x.new_ones(2), torch.ones_like(x, dtype=torch.int64), torch.tensor([1, 2,
            3]) + x[0, 0], torch.arange(10, 0, -3))  # fmt: skip


@case(X, IMAGE)
def views(x, y):
    return (x.view(2, 6), x.reshape(-1), x.t(), x.T, y.permute(0, 2, 3, 1), y.transpose(1, 2), x.unsqueeze(1),
            x[:, None, :1].squeeze(), x[None].squeeze(0), x[:1].expand(3, 4), y.flatten(1), y.unflatten(2, (2,
            3)), y.movedim(1, -1), x.select(1, 2), x[1:, ::2], x[-1], y[..., 1], x.narrow(1, 1, 2), x.unbind(1),
            x.split(3, 1), x.split([1, 3], 1), x.chunk(2, 1), torch.tensor_split(x, 3, 1), x.diagonal(1),
            y.diagonal(0, 2, 3), x[0].diag_embed(), x.diag(), x[0].diag(), x.unfold(1, 2, 1), y.mT,
            x.swapaxes(0, 1), y.flatten(), x.view_as(y[0, 0, :3, :4]), x.ravel(), torch.atleast_2d(x[0]),
            x.contiguous())  # fmt: skip


@case(X, Y)
def joins(x, y):
    return (torch.cat([x, y]), torch.cat([x, y], -1), torch.stack([x, y], 1), torch.hstack([x, y]),
            torch.vstack([x, y]), x.repeat(2, 1, 3), x.tile((2,)), x.repeat_interleave(2, 1), x.flip(0, 1),
            x.roll(1, 0), x.roll((1, 2), (0, 1)), x.roll(3), torch.rot90(x), torch.rot90(x, 3),
            torch.meshgrid(x[0], y[:, 0], indexing="ij"), torch.cat([x, x.int()]), x.fliplr(),
            torch.broadcast_tensors(x, y[:1]), torch.repeat_interleave(torch.tensor([1, 0, 2])))  # fmt: skip


@case(IMAGE)
def padding(x):
    return (F.pad(x, (1, 2)), F.pad(x, (1, 0, 2, 1), value=3.0), F.pad(x, (1, 1, 2, 2), mode="reflect"),
            F.pad(x, (1, 1), mode="constant", value=-1.0), F.pad(x, (-1, 0)), F.pad(x, (1, 2, 0, 1),
            mode="replicate"), F.pad(x, (1, 1, 1, 1), mode="circular"))  # fmt: skip


@case(X, torch.tensor([2, 0, -1]), torch.tensor([[0, 1], [2, 1]]))
def indexing(x, i, j):
    return (x[i], x[:, i], x[i, i], x[j % 3], x[0, i], x[x > 0], x[i > -2], x.index_select(1, i % 4), x.gather(1,
            j), torch.take(x, j), x[:2].take_along_dim(j, 1), F.embedding(j % 3, x), x[i][:, i], x.nonzero(),
            torch.where(x > 0), x[None, i], x[i, None], x[:, None, i], x.masked_select(x > 0), x[i, :2], x[1:,
            j], F.one_hot(j, 5), x.argsort(1), *x.sort(1, descending=True), *x.topk(2, 1), *x.topk(2, 0,
            largest=False), *x.kthvalue(2, 1), torch.searchsorted(torch.tensor([0.0, 1.0]), x),
            torch.bucketize(x, torch.tensor([-1.0, 0.5])))  # fmt: skip


@case(X, torch.tensor([2, 0, 2]), torch.tensor([[0, 1], [3, 2]]))
def scatters(x, i, j):
    y, z = torch.ones(3, 4), torch.ones(2, 2)
    return (x.scatter(1, j, 2.0), x.scatter(0, j % 3, z), x.scatter_add(1, j, z), x.index_add(0, i, y),
            x.index_copy(0, i[:2], y[:2]), x.index_fill(0, i, 7.0), x.index_put((i,), y), x.index_put((i, i),
            V[:3]), x.index_put((i,), y, accumulate=True), x.select_scatter(y[0], 0, 1), x.slice_scatter(y[:,
            :2], 1, 1, 3), x.masked_scatter(x > 0, torch.arange(12.0)), x.scatter_reduce(1, j, z, "sum"),
            x.scatter_reduce(1, j, z * 3, "mean"), x.scatter_reduce(1, j, z, "amax", include_self=False),
            x.index_put((x > 0,), torch.tensor(5.0)), x.scatter(1, j, z, reduce="add"))  # fmt: skip


@case(X)
def reductions(x):
    return (x.sum(), x.sum(1), x.sum((0, 1), keepdim=True), x.mean(), x.mean(0), x.prod(), x.prod(1), x.max(),
            *x.max(1), *x.min(0, keepdim=True), x.amax(1), x.amin(), x.argmax(), x.argmin(1), x.argmax(1,
            keepdim=True), (x > 0).any(1), (x > 0).all(), x.var(), x.var(1), x.std(0), x.std(1, unbiased=False),
            torch.var_mean(x, 1), torch.std_mean(x), x.norm(), x.norm(1, dim=1), torch.linalg.vector_norm(x, 2,
            1), x.cumsum(1), x.cumprod(0), *x.cummax(1), *x.cummin(0), x.logcumsumexp(1), x.median(),
            *x.median(1), x.nansum(), x.count_nonzero(1), *torch.aminmax(x), x.diff(), x.trace(),
            x.sum(dtype=torch.float64), x.logsumexp(1), torch.count_nonzero(x > 0),
            x.int().mean(dtype=torch.float32), torch.dist(x, x + 1), torch.linalg.norm(x, dim=1),
            x.int().sum(1), (x > 0).sum(), x.bool().prod())  # fmt: skip


@case(X, Y, SQUARE)
def products(x, y, s):
    return (x @ y.T, torch.mm(x, y.t()), torch.bmm(x[None], y.T[None]), torch.addmm(s, x, y.T, beta=0.5,
            alpha=2), torch.baddbmm(s[None], x[None], y.T[None]), torch.mv(x, y[0]), torch.dot(x[0], y[0]),
            torch.outer(x[0], y[1]), torch.einsum("ij,kj->ik", x, y), torch.tensordot(x, y, dims=([1], [1])),
            torch.kron(x, y[:2]), torch.cross(x[:, :3], y[:, :3], dim=1), torch.cdist(x, y), torch.det(s),
            torch.linalg.inv(s), torch.inverse(s), torch.linalg.solve(s, x), torch.linalg.cholesky(s @ s.T),
            F.linear(x, y), F.linear(x, y, x[:, 0]), torch.addmv(x[:, 0], x, y[0]), torch.addr(s, x[:, 0], y[:,
            0]), torch.vdot(x[0], y[0]), torch.linalg.solve_triangular(s.triu(), x, upper=True), F.bilinear(x,
            y, floats(2, 4, 4)), x.inner(y[0]))  # fmt: skip


@case(IMAGE, KERNEL, floats(4))
def convolutions(x, k, b):
    return (F.conv2d(x, k), F.conv2d(x, k, b, stride=2, padding=1), F.conv2d(x, k, dilation=2), F.conv1d(x[:, :,
            0], k[:, :, :, 0]), F.conv2d(x, k, padding="same"), F.conv2d(x[0], k), F.conv_transpose2d(x[:,
            :1].repeat(1, 4, 1, 1), k), F.conv_transpose2d(x[:, :1].repeat(1, 4, 1, 1), k, stride=2, padding=1,
            output_padding=1), F.conv2d(x, k[:3, :1], groups=3), F.conv3d(x[None, :, :, :, :],
            k[None].permute(1, 0, 2, 3, 4)[:, :1].repeat(1, 2, 1, 1, 1)))  # fmt: skip


@case(IMAGE)
def pooling(x):
    return (F.max_pool2d(x, 2), F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 2, ceil_mode=True), F.max_pool2d(x, 2,
            return_indices=True), F.avg_pool2d(x, 2), F.avg_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 3, 2, 1,
            count_include_pad=False), F.avg_pool2d(x, 2, ceil_mode=True), F.avg_pool2d(x, 3, 2, 1,
            ceil_mode=True), F.adaptive_avg_pool2d(x, (3, 1)), F.adaptive_avg_pool2d(x, (4, 2)),
            F.adaptive_max_pool2d(x, (2, 1)), F.max_pool1d(x[0], 2), F.avg_pool1d(x[0], 2),
            F.adaptive_avg_pool1d(x[0], 2), F.max_pool2d(x, 2, 2, dilation=2), F.lp_pool2d(x.abs(), 2, 2))  # fmt: skip


@case(IMAGE)
def resizing(x):
    return (F.interpolate(x, scale_factor=2), F.interpolate(x, size=(4, 7)), F.interpolate(x, scale_factor=2,
            mode="bilinear"), F.interpolate(x, size=(9, 3), mode="bilinear", align_corners=True),
            F.pixel_unshuffle(x[..., :4], 2), F.pixel_shuffle(x[:1, :1].repeat(1, 8, 1, 1), 2), F.unfold(x, (2,
            3)), F.interpolate(x[0], scale_factor=1.5), F.channel_shuffle(x.repeat(1, 2, 1, 1), 2),
            F.interpolate(x[0], size=8, mode="linear"))  # fmt: skip


@case(IMAGE, floats(3), floats(3) + 2)
def normalisation(x, w, b):
    return (F.layer_norm(x, (6, 5)), F.group_norm(x, 3, w, b), F.instance_norm(x), F.batch_norm(x, w, b.abs(),
            w, b), F.rms_norm(x, (5,)), F.local_response_norm(x.abs(), 2), F.batch_norm(x, None, None,
            training=True))  # fmt: skip


@case(floats(2, 3, 4, 8), floats(2, 3, 5, 8), torch.tensor([[True, False, True, True, False]] * 4))
def attention(q, k, m):
    f = F.scaled_dot_product_attention
    return f(q, k, k), f(q, q, q, is_causal=True), f(q, k, k, m), f(q, k, k, m * 0.5), f(q, k, k, scale=0.1)


@case(LOGITS, CLASSES, floats(4, 3).sigmoid())
def losses(x, c, p):
    return (F.cross_entropy(x, c), F.cross_entropy(x, c, reduction="sum"), F.cross_entropy(x, c,
            label_smoothing=0.1), F.cross_entropy(x, c, torch.tensor([1.0, 2.0, 3.0])), F.cross_entropy(x, c,
            ignore_index=2), F.nll_loss(x, c), F.mse_loss(x, p), F.l1_loss(x, p, reduction="none"),
            F.smooth_l1_loss(x, p), F.huber_loss(x, p, delta=0.5), F.binary_cross_entropy(p, p),
            F.binary_cross_entropy_with_logits(x, p), F.kl_div(x, p, reduction="batchmean"),
            F.cosine_similarity(x, p), F.pairwise_distance(x, p), F.cross_entropy(x, p), F.nll_loss(x, c,
            reduction="none"))  # fmt: skip


@case(X)
def sizes_and_items(x):
    return x.shape[0] * x.sum(), x.numel(), x.view(x.size(1), x.size(0)), [x.dim(), {"a": x, "b": None}], 2.5


@case(X.to(torch.bfloat16), X.half(), X.double())
def narrow_floats(x, y, z):
    return x + 1, x * x, x.sum(), F.softmax(x, 1), y + x.float(), y @ y.T, z.sin(), x.to(torch.float32), y + x


@case(torch.tensor([3, 200], dtype=torch.uint8), torch.tensor([100, -3], dtype=torch.int8))
def narrow_integers(x, y):
    return x + x, x + y, y * 3, x // 2, x > 100, x.sum(), y.float(), -y, x * 2, x + 100, y - 128


@case(X, torch.tensor([1, 2]))
def changes_in_place(x, i):
    y = x.clone()
    y[0] = 5
    y[i] += 1
    y.view(-1)[3:5].mul_(2)
    z = y[1]
    y[1, 0] = 7
    y.t()[1].fill_(3)
    w = torch.zeros(3)
    w[1:] = y[:2, 1]
    w.add_(1).mul_(z[0])
    y[:, 3] -= 1
    y.diagonal().zero_()
    return y, z, w, y.relu_(), y[0].clone().masked_fill_(y[0] > 0, 9)


@case(X)
def without_gradients(x):
    with torch.no_grad():
        y = x * 2
    return y + x.detach(), torch.zeros(3).copy_(x[:, 0])


NAN, INF = float("nan"), float("inf")
EDGES = torch.tensor([NAN, INF, -INF, -0.0, 0.0, 1.0, -2.5, 0.3, 100.0])


@case(EDGES)
def edges(x):
    return (x.sign(), x.sgn(), F.threshold(x, 0.1, 9.0), F.softshrink(x), torch.heaviside(x, torch.tensor(0.5)),
            x ** 0.5, x ** -0.5, x.median(), *x.reshape(3, 3).median(1), torch.lerp(x, torch.tensor(2.0), 1.0),
            torch.lerp(torch.tensor([1e8, 3.0]), torch.tensor([1.0, INF]), 1.0), F.hardtanh(x), F.relu(x), F.elu(x),
            F.interpolate(x.reshape(1, 3, 3), scale_factor=2, mode="linear"))  # fmt: skip


@case(X)
def norms(x):
    norm = torch.linalg.norm
    return (norm(x), norm(x, 1), norm(x, 2), norm(x, -INF), norm(x, "nuc"), norm(x, 1, dim=1), norm(x[0], 1), norm(x[0],
            0), norm(x, "fro", keepdim=True), torch.linalg.matrix_norm(x, INF),
            torch.linalg.matrix_norm(x))  # fmt: skip


@case(torch.tensor([[1.0, NAN, NAN, -INF, -INF, -INF, 2.0, 2.0]]))
def positions_of_maxima(x):
    return F.max_pool1d(x, 3, 2, 1, return_indices=True), F.max_pool1d(x, 2, return_indices=True)


@case(floats(2, 3, 4, 8), torch.tensor([[0.0, -INF, 0.5, 0.0]] * 3 + [[-INF] * 4]))
def attention_without_places(q, m):
    return F.scaled_dot_product_attention(q, q, q, m), F.scaled_dot_product_attention(q, q, q, m == 0)


@case(torch.tensor(2.0), torch.tensor(0), torch.tensor(3.0), X)
def scatters_without_axes(x, i, s, y):
    return (x.scatter_add(0, i, s), x.scatter(0, i, s, reduce="multiply"), x.scatter(0, i, s),
            y.masked_scatter(y > 99, y[:0]))  # fmt: skip


@case(X)
def strided_views(x):
    y = x.clone()
    torch.as_strided(y, (2, 2), (4, 2), 1).fill_(9)
    return y


@pytest.mark.full
def test_strides_of_a_transposed_tensor() -> None:
    """Places in memory are those of the tensor in memory, which tagloom does not have."""
    with pytest.raises(tl.TagloomError, match="one after the other"):
        tl.from_torch(exported(lambda x: torch.as_strided(x.t(), (2, 2), (1, 2)), (X,))).program  # noqa: B018


@pytest.mark.full
def test_safe_softmax() -> None:
    """The softmax of decomposed attention gives zeros where all scores are -inf."""
    x = torch.tensor([[-INF, -INF], [1.0, -INF], [NAN, 1.0]])
    outcome_matches(lambda x: torch.ops.aten._safe_softmax(x, 1), (x,))


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    """The imported function computes what PyTorch does."""
    outcome_matches(*CASES[name])
