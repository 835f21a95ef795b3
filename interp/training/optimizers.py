"""The public names of `tl.optimizers`."""

from .first_order import SGD, Adadelta, Adagrad, Adam, Momentum, RMSProp
from .lbfgs import LBFGS
from .optimizer import Optimizer

__all__ = ["LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "Momentum", "Optimizer", "RMSProp"]
