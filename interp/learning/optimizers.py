"""What people call `tl.optimizers`."""

from .lbfgs import LBFGS
from .optimizer import Optimizer
from .rules import SGD, Adadelta, Adagrad, Adam, Momentum, RMSProp

__all__ = ["LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "Momentum", "Optimizer", "RMSProp"]
