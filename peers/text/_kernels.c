/* The extension module `peers.text._kernels`: the kernels of the text analysis. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "peers/text/characters.h"
#include "peers/text/line_languages.h"

#define ALL_KERNELS(EACH) EACH(fold_known) EACH(count_runs)
#define ALL_CONSTANTS(EACH) EACH(UNEVEN)

#include "peers/kernel_module.h"
