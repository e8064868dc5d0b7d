from .protocols import APP as APP
from .protocols import NPP as NPP
from .protocols import UPP as UPP
from .protocols import Dirichlet as Dirichlet
from .protocols import Prevalences as Prevalences
from .samples import Samples as Samples
from .samples import as_samples as as_samples
