"""Small services beside tensors: names of devices."""

from taeda.utils.backend_registration import rename_privateuse1_backend

__all__ = ["rename_privateuse1_backend"]
