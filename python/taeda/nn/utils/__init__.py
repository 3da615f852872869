"""Services for modules and parameters: clipping, vectors of parameters, calls with other state."""

from taeda.nn.utils import stateless
from taeda.nn.utils.clip_grad import (
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from taeda.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from taeda.nn.utils.init import skip_init
