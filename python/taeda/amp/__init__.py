"""Mixed precision: regions in which operators choose their dtype, and scaling of gradients."""

from taeda.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from taeda.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
