/* The extension module `peers.text._kernels`: the kernel of the text analysis. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "peers/text/characters.h"

#define ALL_KERNELS(EACH) EACH(fold_known)
#define ALL_CONSTANTS(EACH) EACH(UNEVEN)

#include "peers/kernel_module.h"
