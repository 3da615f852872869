// Data loading in C++, with what it gives: <taeda/taeda.h> and the namespace data.
#pragma once

#include "taeda/data/data.h"
#include "taeda/taeda.h"
