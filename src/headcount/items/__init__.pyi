from .arrays import Scored as Scored
from .arrays import Verdicts as Verdicts
from .arrays import check_features as check_features
from .arrays import column_names as column_names
from .arrays import count_rows as count_rows
from .arrays import encode_labels as encode_labels
from .arrays import take_rows as take_rows
