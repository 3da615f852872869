// Guards that leave keys out of dispatch.
#pragma once

#include "c10/core/DispatchKey.h"
