"""Names of errors and limits that programs use."""

import pytest
from under_test import t


def test_names_of_errors_that_programs_catch():
    exc = t._dynamo.exc
    names = (
        "BackendCompilerFailed CondOpArgsMismatchError InfiniteGeneratorError "
        "InternalTorchDynamoError InvalidBackend ObservedException PackageError RecompileError "
        "ResetRequired RestartAnalysis ShortenTraceback SkipFrame StepUnsupported "
        "TorchRuntimeError UncapturedHigherOrderOpError Unsupported UserError"
    )
    for name in names.split():
        assert issubclass(getattr(exc, name), exc.TorchDynamoException)
    assert issubclass(exc.BackendCompilerFailed, exc.ShortenTraceback)
    assert exc.UserErrorType.INVALID_INPUT.name == "INVALID_INPUT"
    dim = t.export.Dim("n")

    class Fixed(t.nn.Module):
        def forward(self, x):
            return x.view(3)

    with pytest.raises(exc.UserError) as caught:
        t.export.export(Fixed(), (t.ones(3),), dynamic_shapes=({0: dim},))
    assert caught.value.error_type is exc.UserErrorType.CONSTRAINT_VIOLATION


def test_limits_of_recursion_are_checked():
    t._dynamo.set_recursion_limit(100)
    t._dynamo.set_recursion_limit(-1)
    with pytest.raises(ValueError, match="recursion limit must be >= 1, or -1 to reset"):
        t._dynamo.set_recursion_limit(0)
