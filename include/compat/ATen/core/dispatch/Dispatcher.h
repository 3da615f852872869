// Operators by name: c10::Dispatcher.
#pragma once

#include "ATen/Operators.h"
