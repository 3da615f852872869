// Lists, tuples, dicts and optionals are converted without this header too.
#pragma once

#include "pybind11/pybind11.h"
