"""An older path of what `taeda.hub` has."""

from taeda.hub import load_state_dict_from_url as load_url
from taeda.hub import tqdm

__all__ = ["load_url", "tqdm"]
