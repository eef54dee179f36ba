/* Lets big arrays of simulated ranks share memory (smpi/auto-shared-malloc-thresh), so that many
   ranks fit into a small machine.  Fortran allocates with malloc and free, which are wrapped at
   link time: -Wl,--wrap=malloc -Wl,--wrap=free.  The C files of a program get the same from
   SMPI's headers.  Times stay what they are; the contents of the arrays mean nothing. */
#include <stddef.h>

extern void *smpi_shared_malloc_intercept(size_t size, const char *file, int line);
extern void smpi_shared_free(void *data);

void *__wrap_malloc(size_t size) { return smpi_shared_malloc_intercept(size, __FILE__, __LINE__); }

void __wrap_free(void *data) { smpi_shared_free(data); }
