from .features import check_features as check_features
from .features import column_names as column_names
from .features import count_rows as count_rows
from .features import take_rows as take_rows
from .inputs import Scored as Scored
from .inputs import Verdicts as Verdicts
from .labels import encode_labels as encode_labels
