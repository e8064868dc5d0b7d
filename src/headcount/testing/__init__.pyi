from .cases import Case as Case
from .run import Check as Check
from .run import CheckReport as CheckReport
from .run import CheckResult as CheckResult
from .run import check_quantifier as check_quantifier
from .run import quantifier_checks as quantifier_checks
