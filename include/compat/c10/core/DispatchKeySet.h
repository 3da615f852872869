// c10::DispatchKeySet.
#pragma once

#include "c10/core/DispatchKey.h"
