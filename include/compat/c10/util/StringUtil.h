// c10::str.
#pragma once

#include "c10/util/Exception.h"
