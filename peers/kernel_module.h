/* How Python calls kernels: an extension module `_kernels` of those of a room.

   Who includes this, last, has declared the kernels and says which they are: ALL_KERNELS(EACH), and in
   ALL_CONSTANTS(EACH) the numbers that Python goes by too, which a test compares with its own.

   A kernel is declared with a letter for each argument:
       b, w, s     array of bytes, of words (32 bits), of sums (64 bits), without sign
       i, f        array of numbers of 64 bits, with sign; of floating-point numbers
       B, W ...    the same, to be written to
       i2, I3 ...  with so many dimensions, row after row
       n, d        a number, a floating-point number
       j, g        a tuple or list of numbers; of floating-point numbers: seen as such an array
       t           a tuple or list of strings, or bytes: seen as an array of bytes, one string after the other in
                   UTF-8, and one of numbers, where each starts (one more than there are)
       o           how many numbers a kernel has room for; they are returned as a list
       r, q        the same, of which as many are returned as the kernel says; of floating-point numbers
       ( ... )     a tuple, often a named one, of such arguments
   Every argument is checked against its letter at every call, so that a mistake is a TypeError and no damaged
   memory. What is in the arrays is trusted. The struct of a kernel's arguments has the same in the same order,
   in pieces of 64 bits: a pointer and the lengths of an array, a number. What is no array is copied, so that a
   few numbers or strings need not become one first, which costs more than many a kernel.

   A kernel returns its number, or, when it has o, r or q, a tuple of their lists.

   The kernels of a room are one compilation unit, so that what many share becomes a part of each. They run
   without the interpreter's lock. */

#pragma once

/* The stable ABI of 3.11, so that what is built by one Python is loaded by all later ones. */
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include "peers/kernel.h"

#define ARGUMENT_PIECES_MAX 96
/* What is copied of arguments goes to the stack as long as it has room. */
#define COPIED_WORDS 256
#define COPIES_MAX 16
#define RETURNED_MAX 4

typedef struct {
    const char *name;
    const char *letters;
    int64_t (*run)(const void *arguments);
    size_t argument_bytes;
} Kernel;

#define RUN(name) \
    static int64_t run_##name(const void *arguments) \
    { \
        return name(arguments); \
    }
ALL_KERNELS(RUN)

#define ENTRY(name) {#name, name##_letters, run_##name, sizeof(struct name##_arguments)},
static const Kernel kernels[] = {ALL_KERNELS(ENTRY)};
#define N_KERNELS (sizeof kernels / sizeof *kernels)

static PyMethodDef methods[N_KERNELS];

/* Numbers on their way to Python. */
typedef struct {
    char letter;
    const int64_t *numbers;
    int64_t n;
} Returned;

/* Arguments on their way from Python. */
typedef struct {
    const Kernel *kernel;
    const char *letter; /* the next one */
    uint64_t *piece; /* where it goes */
    uint64_t *room; /* for copies */
    size_t room_bytes;
    void *copies[COPIES_MAX]; /* those for which it was too little */
    int n_copies;
    Returned returned[RETURNED_MAX];
    int n_returned;
} Unpacking;

/* Return room for a copy; NULL with an exception if there is none. */
static void *room_for(Unpacking *u, size_t n_bytes)
{
    void *room = u->room;
    n_bytes = stored_bytes((int64_t)n_bytes, 1);
    if (n_bytes <= u->room_bytes) { /* on the stack */
        u->room += n_bytes / sizeof(uint64_t);
        u->room_bytes -= n_bytes;
        return room;
    }
    room = u->n_copies < COPIES_MAX ? PyMem_Malloc(n_bytes) : NULL;
    if (room == NULL)
        PyErr_NoMemory();
    else
        u->copies[u->n_copies++] = room;
    return room;
}

static int type_of(char letter)
{
    switch (letter | 32) {
    case 'b':
        return NPY_UINT8;
    case 'w':
        return NPY_UINT32;
    case 's':
        return NPY_UINT64;
    case 'i':
        return NPY_INT64;
    default:
        return NPY_FLOAT64;
    }
}

static bool unpack_array(Unpacking *u, PyObject *object)
{
    char letter = *u->letter++;
    int n_dimensions = '2' <= *u->letter && *u->letter <= '3' ? *u->letter++ - '0' : 1;
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_Check(object) || !PyArray_EquivTypenums(PyArray_TYPE(array), type_of(letter))
        || PyArray_NDIM(array) != n_dimensions || !PyArray_IS_C_CONTIGUOUS(array) || !PyArray_ISALIGNED(array)
        || !PyArray_ISNOTSWAPPED(array) || (letter < 'a' && !PyArray_ISWRITEABLE(array))) {
        PyErr_Format(
            PyExc_TypeError, "%s: no contiguous array of type '%c' and %d dimension(s)%s: %R of %R",
            u->kernel->name, letter | 32, n_dimensions, letter < 'a' ? " to be written to" : "",
            PyArray_Check(object) ? (PyObject *)PyArray_DESCR(array) : Py_None, (PyObject *)Py_TYPE(object));
        return false;
    }
    *u->piece++ = (uint64_t)(uintptr_t)PyArray_DATA(array);
    for (int i = 0; i < n_dimensions; i++)
        *u->piece++ = (uint64_t)PyArray_DIM(array, i);
    return true;
}

/* Return an item of what is a tuple or a list, borrowed. */
static PyObject *item_of(PyObject *sequence, Py_ssize_t i)
{
    return PyTuple_Check(sequence) ? PyTuple_GetItem(sequence, i) : PyList_GetItem(sequence, i);
}

/* Tell whether an object is a tuple or a list. */
static bool is_sequence(const Unpacking *u, PyObject *object)
{
    if (PyTuple_Check(object) || PyList_Check(object))
        return true;
    PyErr_Format(PyExc_TypeError, "%s: no tuple or list: %R", u->kernel->name, (PyObject *)Py_TYPE(object));
    return false;
}

static bool unpack_numbers(Unpacking *u, PyObject *object)
{
    bool is_floating = *u->letter++ == 'g';
    if (!is_sequence(u, object))
        return false;
    Py_ssize_t n = PySequence_Size(object);
    int64_t *numbers = room_for(u, (size_t)n * sizeof(int64_t));
    if (numbers == NULL)
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = item_of(object, i);
        if (is_floating)
            ((double *)numbers)[i] = PyFloat_AsDouble(item);
        else
            numbers[i] = PyLong_AsLongLong(item);
        if (PyErr_Occurred())
            return false;
    }
    *u->piece++ = (uint64_t)(uintptr_t)numbers;
    *u->piece++ = (uint64_t)n;
    return true;
}

static bool unpack_room(Unpacking *u, PyObject *object)
{
    char letter = *u->letter++;
    int64_t n = PyLong_AsLongLong(object);
    if (n < 0) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "%s: no room for %lld numbers", u->kernel->name, (long long)n);
        return false;
    }
    int64_t *numbers = room_for(u, (size_t)n * sizeof(int64_t));
    if (numbers == NULL)
        return false;
    u->returned[u->n_returned++] = (Returned){letter, numbers, n};
    *u->piece++ = (uint64_t)(uintptr_t)numbers;
    *u->piece++ = (uint64_t)n;
    return true;
}

static const char *bytes_in(PyObject *object, Py_ssize_t *n)
{
    if (!PyBytes_Check(object))
        return PyUnicode_AsUTF8AndSize(object, n);
    *n = PyBytes_Size(object);
    return PyBytes_AsString(object);
}

static bool unpack_strings(Unpacking *u, PyObject *object)
{
    u->letter++;
    if (!is_sequence(u, object))
        return false;
    Py_ssize_t n = PySequence_Size(object), length;
    int64_t *starts = room_for(u, (size_t)(n + 1) * sizeof(int64_t));
    if (starts == NULL)
        return false;
    starts[0] = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (bytes_in(item_of(object, i), &length) == NULL)
            return false;
        starts[i + 1] = starts[i] + length;
    }
    char *bytes = room_for(u, (size_t)starts[n]);
    if (bytes == NULL)
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        const char *string = bytes_in(item_of(object, i), &length);
        memcpy(bytes + starts[i], string, (size_t)length);
    }
    *u->piece++ = (uint64_t)(uintptr_t)bytes;
    *u->piece++ = (uint64_t)starts[n];
    *u->piece++ = (uint64_t)(uintptr_t)starts;
    *u->piece++ = (uint64_t)(n + 1);
    return true;
}

static bool unpack_argument(Unpacking *u, PyObject *object);

static bool unpack_tuple(Unpacking *u, PyObject *object)
{
    u->letter++;
    if (!PyTuple_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s: no tuple: %R", u->kernel->name, (PyObject *)Py_TYPE(object));
        return false;
    }
    Py_ssize_t i = 0, n = PyTuple_Size(object);
    for (; i < n && *u->letter != ')'; i++)
        if (!unpack_argument(u, PyTuple_GetItem(object, i)))
            return false;
    if (i < n || *u->letter++ != ')') {
        PyErr_Format(PyExc_TypeError, "%s: a tuple of %zd", u->kernel->name, n);
        return false;
    }
    return true;
}

static bool unpack_argument(Unpacking *u, PyObject *object)
{
    double number;
    switch (*u->letter) {
    case '(':
        return unpack_tuple(u, object);
    case 'n':
        u->letter++;
        *u->piece++ = (uint64_t)PyLong_AsLongLong(object);
        return !PyErr_Occurred();
    case 'd':
        u->letter++;
        number = PyFloat_AsDouble(object);
        memcpy(u->piece++, &number, sizeof number);
        return !PyErr_Occurred();
    case 'j':
    case 'g':
        return unpack_numbers(u, object);
    case 't':
        return unpack_strings(u, object);
    case 'o':
    case 'r':
    case 'q':
        return unpack_room(u, object);
    default:
        return unpack_array(u, object);
    }
}

static bool unpack_all(Unpacking *u, PyObject *const *objects, Py_ssize_t n_objects)
{
    Py_ssize_t i = 0;
    for (; i < n_objects && *u->letter; i++)
        if (!unpack_argument(u, objects[i]))
            return false;
    if (i == n_objects && !*u->letter)
        return true;
    PyErr_Format(PyExc_TypeError, "%s: not %zd arguments", u->kernel->name, n_objects);
    return false;
}

static PyObject *list_of(const Returned *returned, int64_t result)
{
    int64_t n = returned->letter == 'o' ? returned->n : least_of(result, returned->n);
    const double *floats = (const double *)returned->numbers;
    PyObject *list = PyList_New(n);
    for (int64_t i = 0; list && i < n; i++) {
        PyObject *item =
            returned->letter == 'q' ? PyFloat_FromDouble(floats[i]) : PyLong_FromLongLong(returned->numbers[i]);
        if (item == NULL)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, i, item);
    }
    return list;
}

/* Return what a kernel has said: a number, or the lists that it has room for. */
static PyObject *returned_of(const Unpacking *u, int64_t result)
{
    if (result == NO_MEMORY)
        return PyErr_NoMemory();
    if (!u->n_returned)
        return PyLong_FromLongLong(result);
    PyObject *lists = PyTuple_New(u->n_returned);
    for (int i = 0; lists && i < u->n_returned; i++) {
        PyObject *list = list_of(u->returned + i, result);
        if (list == NULL)
            Py_CLEAR(lists);
        else
            PyTuple_SetItem(lists, i, list);
    }
    return lists;
}

static PyObject *call_kernel(PyObject *capsule, PyObject *const *objects, Py_ssize_t n_objects)
{
    const Kernel *kernel = PyCapsule_GetPointer(capsule, NULL);
    if (kernel == NULL)
        return NULL;
    uint64_t pieces[ARGUMENT_PIECES_MAX], room[COPIED_WORDS];
    Unpacking u;
    u.kernel = kernel;
    u.letter = kernel->letters;
    u.piece = pieces;
    u.room = room;
    u.room_bytes = sizeof room;
    u.n_copies = u.n_returned = 0;
    PyObject *returned = NULL;
    if (unpack_all(&u, objects, n_objects)) {
        int64_t result;
        Py_BEGIN_ALLOW_THREADS
        result = kernel->run(pieces);
        Py_END_ALLOW_THREADS
        returned = returned_of(&u, result);
    }
    while (u.n_copies)
        PyMem_Free(u.copies[--u.n_copies]);
    return returned;
}

/* Return strings of those that are one after the other, by their indexes: bytes, starts, indexes. */
static PyObject *strings_at(PyObject *module, PyObject *const *objects, Py_ssize_t n_objects)
{
    static const Kernel kernel = {.name = "strings_at", .letters = "bij"};
    struct {
        Bytes bytes;
        Ints starts;
        Ints indexes;
    } a;
    uint64_t room[COPIED_WORDS];
    Unpacking u = {
        .kernel = &kernel, .letter = kernel.letters, .piece = (uint64_t *)&a, .room = room,
        .room_bytes = sizeof room};
    (void)module;
    PyObject *list = unpack_all(&u, objects, n_objects) ? PyList_New(a.indexes.size) : NULL;
    for (int64_t i = 0; list && i < a.indexes.size; i++) {
        int64_t index = a.indexes.at[i];
        PyObject *string = NULL;
        if (index < 0 || index + 1 >= a.starts.size)
            PyErr_Format(PyExc_IndexError, "no string %lld", (long long)index);
        else
            string = PyUnicode_DecodeUTF8(
                (const char *)a.bytes.at + a.starts.at[index], a.starts.at[index + 1] - a.starts.at[index], NULL);
        if (string == NULL)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, i, string);
    }
    while (u.n_copies)
        PyMem_Free(u.copies[--u.n_copies]);
    return list;
}

/* Return how many bytes the arguments of so many letters take. */
static size_t bytes_of(const char *letters)
{
    size_t n_pieces = 0;
    for (; *letters; letters++) {
        if (*letters == 'n' || *letters == 'd')
            n_pieces++;
        else if ('2' <= *letters && *letters <= '3')
            n_pieces += (size_t)(*letters - '1');
        else if (*letters == 't')
            n_pieces += 4;
        else if (*letters != '(' && *letters != ')')
            n_pieces += 2;
    }
    return n_pieces * sizeof(uint64_t);
}

/* Return how many letters are among some. */
static int letters_among(const char *letters, const char *some)
{
    int n = 0;
    for (; *letters; letters++)
        n += strchr(some, *letters) != NULL;
    return n;
}

static bool add_kernel(PyObject *module, size_t i)
{
    const Kernel *kernel = kernels + i;
    size_t n_bytes = bytes_of(kernel->letters);
    if (n_bytes != kernel->argument_bytes || n_bytes > ARGUMENT_PIECES_MAX * sizeof(uint64_t)
        || letters_among(kernel->letters, "orq") > RETURNED_MAX
        || letters_among(kernel->letters, "jgorqt") + letters_among(kernel->letters, "t") > COPIES_MAX) {
        PyErr_Format(PyExc_ImportError, "the letters of %s are not those of its struct", kernel->name);
        return false;
    }
    PyMethodDef *method = methods + i;
    method->ml_name = kernel->name;
    method->ml_meth = (PyCFunction)(void (*)(void))call_kernel;
    method->ml_flags = METH_FASTCALL;
    PyObject *capsule = PyCapsule_New((void *)kernel, NULL, NULL);
    PyObject *function = capsule ? PyCFunction_NewEx(method, capsule, NULL) : NULL;
    bool is_added = function && PyModule_AddObjectRef(module, kernel->name, function) == 0;
    Py_XDECREF(function);
    Py_XDECREF(capsule);
    return is_added;
}

typedef struct {
    const char *name;
    long value;
} Constant;

#define CONSTANT(name) {#name, (long)(name)},
static const Constant constants[] = {ALL_CONSTANTS(CONSTANT)};
#define N_CONSTANTS (sizeof constants / sizeof *constants)

static PyMethodDef functions[] = {
    {"strings_at", (PyCFunction)(void (*)(void))strings_at, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_kernels",
    .m_doc = "Inner loops in C, see peers/kernel.py.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__kernels(void)
{
    import_array();
    PyObject *module = PyModule_Create(&definition);
    bool is_complete = module && PyModule_AddStringConstant(module, "SOURCES", KERNEL_SOURCES) == 0;
    for (size_t i = 0; is_complete && i < N_KERNELS; i++)
        is_complete = add_kernel(module, i);
    for (size_t i = 0; is_complete && i < N_CONSTANTS; i++)
        is_complete = PyModule_AddIntConstant(module, constants[i].name, constants[i].value) == 0;
    if (!is_complete)
        Py_CLEAR(module);
    return module;
}
