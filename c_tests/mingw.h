/* What POSIX has and MinGW has not, for the tests: each is compiled with this before it. */
#define tell tell_of_io_h /* a test has a function of this name */
#include <direct.h>
#undef tell
#include <pthread.h>
#include <stdlib.h>

#define mkdir(path, mode) _mkdir(path)
#define setenv(name, value, replace) _putenv_s(name, value)
#define unsetenv(name) _putenv_s(name, "")
#define NO_LINKS_ARE_TOLD 1 /* stat says 1 whatever there is */
/* A thread that MinGW's library detaches at once may never run. */
#define pthread_detach(thread) ((void)(thread))
