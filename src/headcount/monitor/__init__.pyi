from .history import Alert as Alert
from .history import MonitorStatus as MonitorStatus
from .monitor import Monitor as Monitor
from .updates import Update as Update
