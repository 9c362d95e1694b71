/* Loaded before the C library into the processes of a node: moves its wall clock, and makes one folder slow or broken.
   The monotonic clock is left alone. What is wanted stands in a file that the nemesis changes while processes run. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <dirent.h>
#include <time.h>
#include <unistd.h>

struct wanted {
    int64_t seconds;      /* that the wall clock is ahead */
    int64_t delay_ms;     /* of each call that concerns the folder */
    int64_t error;        /* with which such calls fail; 0: they do not */
    int64_t hangs;        /* whether they wait until this is 0 again */
    int64_t reads;        /* whether those that only read go on as ever */
};

static const struct wanted nothing;
static const volatile struct wanted *wanted = &nothing;
static const char *folder;
static size_t folder_length;
static unsigned char concerned[65536]; /* file descriptors of files in the folder */

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define REAL(name) static __typeof__(&name) real; if (!real) real = NEXT(name)

__attribute__((constructor)) static void begin(void) {
    const char *control = getenv("NEMESIS_CONTROL");
    folder = getenv("NEMESIS_FOLDER");
    folder_length = folder ? strlen(folder) : 0;
    if (!control) return;
    int fd = NEXT(open)(control, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    void *at = mmap(NULL, sizeof(struct wanted), PROT_READ, MAP_SHARED, fd, 0);
    NEXT(close)(fd);
    if (at != MAP_FAILED) wanted = at;
}

static void rest(int64_t ms) {
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) && errno == EINTR) {}
}

static int broken(int writes) { /* of a call that concerns the folder */
    if (wanted->reads && !writes) return 0;
    while (wanted->hangs) rest(50);
    if (wanted->delay_ms) rest(wanted->delay_ms);
    if (wanted->error) errno = (int)wanted->error;
    return wanted->error != 0;
}

static int is_in(const char *path) {
    return folder_length && path && strncmp(path, folder, folder_length) == 0;
}

static int known(int fd) { return fd >= 0 && fd < (int)sizeof concerned && concerned[fd]; }

static int opened(int fd, const char *path) {
    if (fd >= 0 && fd < (int)sizeof concerned) concerned[fd] = (unsigned char)is_in(path);
    return fd;
}

#define MODE_OF(flags, last) \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, last); mode = va_arg(more, mode_t); va_end(more); }

#define WRITES(flags) (((flags) & O_ACCMODE) != O_RDONLY || (flags) & O_CREAT)

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); MODE_OF(flags, flags); \
        if (is_in(path) && broken(WRITES(flags))) return -1; \
        return opened(real(path, flags, mode), path); \
    }
#define OPENAT(name) \
    int name(int at, const char *path, int flags, ...) { \
        REAL(name); MODE_OF(flags, flags); \
        if (is_in(path) && broken(WRITES(flags))) return -1; \
        return opened(real(at, path, flags, mode), path); \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

int close(int fd) {
    REAL(close);
    if (fd >= 0 && fd < (int)sizeof concerned) concerned[fd] = 0;
    return real(fd);
}

DIR *opendir(const char *path) { REAL(opendir); return is_in(path) && broken(0) ? NULL : real(path); }

#define ON_FD(type, name, writes, parameters, arguments) \
    type name parameters { REAL(name); return known(fd) && broken(writes) ? -1 : real arguments; }
#define ON_PATH(name, parameters, arguments) \
    int name parameters { REAL(name); return is_in(path) && broken(1) ? -1 : real arguments; }

ON_FD(ssize_t, read, 0, (int fd, void *bytes, size_t count), (fd, bytes, count))
ON_FD(ssize_t, write, 1, (int fd, const void *bytes, size_t count), (fd, bytes, count))
ON_FD(ssize_t, pwrite64, 1, (int fd, const void *bytes, size_t count, off64_t at), (fd, bytes, count, at))
ON_FD(int, fsync, 1, (int fd), (fd))
ON_FD(int, fdatasync, 1, (int fd), (fd))
ON_PATH(link, (const char *path, const char *to), (path, to))
ON_PATH(rename, (const char *path, const char *to), (path, to))
ON_PATH(unlink, (const char *path), (path))
ON_PATH(mkdir, (const char *path, mode_t mode), (path, mode))
ON_PATH(linkat, (int a, const char *path, int b, const char *to, int flags), (a, path, b, to, flags))
ON_PATH(renameat, (int a, const char *path, int b, const char *to), (a, path, b, to))

int clock_gettime(clockid_t clock, struct timespec *at) {
    REAL(clock_gettime);
    int failed = real(clock, at);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += wanted->seconds;
    return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    REAL(gettimeofday);
    int failed = real(at, zone);
    if (!failed) at->tv_sec += wanted->seconds;
    return failed;
}

time_t time(time_t *at) {
    REAL(time);
    time_t found = real(NULL) + wanted->seconds;
    if (at) *at = found;
    return found;
}
