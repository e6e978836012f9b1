/* Counts the system calls that change a store, kills the process at one of them, and records them.
 *
 * Preloaded. `calls_watch` is called once, before the store is opened: either with the path that the
 * store's files begin with, or without one, for what is sent over TCP. All calls are made one at
 * a time, so that their numbers and the record have one order.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static char prefix[PATH_MAX];
static char folder[PATH_MAX];
static int is_watching, is_network, record = -1;
static long count, fatal;
static char manner;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

EXPORT void calls_watch(const char *path, long at, char way, int descriptor) {
    is_network = path == NULL;
    if (path != NULL) {
        snprintf(prefix, sizeof prefix, "%s", path);
        snprintf(folder, sizeof folder, "%s", path);
        *strrchr(folder, '/') = '\0';
    }
    count = 0;
    fatal = at;
    manner = way;
    record = descriptor;
    is_watching = 1;
}

EXPORT long calls_counted(void) { return count; }

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* One record: kind, length of the path, offset, length of the data; then both. */
static void note(char kind, const char *path, int64_t offset, const void *data, uint32_t size) {
    struct __attribute__((packed)) {
        char kind;
        uint16_t path;
        int64_t offset;
        uint32_t size;
    } head = {kind, (uint16_t)strlen(path), offset, size};
    struct iovec parts[3] = {
        {&head, sizeof head}, {(void *)path, head.path}, {(void *)data, size}};
    static ssize_t (*real)(int, const struct iovec *, int);
    if (!real) real = REAL(writev);
    if (record >= 0 && real(record, parts, 3) < 0) die();
}

EXPORT void calls_acknowledge(const char *text) {
    pthread_mutex_lock(&turn);
    note('a', text, 0, "", 0);
    pthread_mutex_unlock(&turn);
}

static int is_ours(const char *path) {
    return is_watching && !is_network && strncmp(path, prefix, strlen(prefix)) == 0;
}

/* The path of a file of the store or of its folder; nothing for all others. */
static int named(int descriptor, char *path) {
    char link[64];
    if (!is_watching || descriptor == record) return 0;
    if (is_network) {
        struct sockaddr_storage peer;
        socklen_t size = sizeof peer;
        int is_tcp = getpeername(descriptor, (struct sockaddr *)&peer, &size) == 0 &&
                     (peer.ss_family == AF_INET || peer.ss_family == AF_INET6);
        strcpy(path, "tcp");
        return is_tcp;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = '\0';
    return is_ours(path) || strcmp(path, folder) == 0;
}

/* Takes the turn of the next call; whether the process is to die in the middle of it. */
static int begin(void) {
    pthread_mutex_lock(&turn);
    count += 1;
    if (count == fatal && manner == 'b') die();
    return count == fatal && manner == 't';
}

static void end(void) {
    if (count == fatal) die();
    pthread_mutex_unlock(&turn);
}

EXPORT ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t offset) {
    static __typeof__(&pwrite64) real;
    char path[PATH_MAX];
    if (!real) real = REAL(pwrite64);
    if (!named(descriptor, path)) return real(descriptor, data, size, offset);
    ssize_t done = real(descriptor, data, begin() ? size / 2 : size, offset);
    if (done > 0) note('w', path, offset, data, (uint32_t)done);
    end();
    return done;
}

EXPORT ssize_t write(int descriptor, const void *data, size_t size) {
    static __typeof__(&write) real;
    char path[PATH_MAX];
    if (!real) real = REAL(write);
    if (!named(descriptor, path)) return real(descriptor, data, size);
    int is_torn = begin();
    off_t offset = is_network ? 0 : lseek(descriptor, 0, SEEK_CUR);
    ssize_t done = real(descriptor, data, is_torn ? size / 2 : size);
    if (done > 0) note('w', path, offset, data, (uint32_t)done);
    end();
    return done;
}

EXPORT ssize_t writev(int descriptor, const struct iovec *parts, int number) {
    static __typeof__(&writev) real;
    char path[PATH_MAX];
    if (!real) real = REAL(writev);
    if (!named(descriptor, path)) return real(descriptor, parts, number);
    if (!is_network) die();
    ssize_t done = real(descriptor, parts, begin() && number > 1 ? number / 2 : number);
    end();
    return done;
}

EXPORT ssize_t send(int descriptor, const void *data, size_t size, int flags) {
    static __typeof__(&send) real;
    char path[PATH_MAX];
    if (!real) real = REAL(send);
    if (!is_network || !named(descriptor, path)) return real(descriptor, data, size, flags);
    ssize_t done = real(descriptor, data, begin() ? size / 2 : size, flags);
    end();
    return done;
}

EXPORT ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
    static __typeof__(&sendmsg) real;
    char path[PATH_MAX];
    if (!real) real = REAL(sendmsg);
    if (!is_network || !named(descriptor, path)) return real(descriptor, message, flags);
    struct msghdr whole = *message;
    if (begin() && whole.msg_iovlen > 1) whole.msg_iovlen /= 2;
    ssize_t done = real(descriptor, &whole, flags);
    end();
    return done;
}

EXPORT int ftruncate64(int descriptor, off64_t size) {
    static __typeof__(&ftruncate64) real;
    char path[PATH_MAX];
    if (!real) real = REAL(ftruncate64);
    if (!named(descriptor, path)) return real(descriptor, size);
    begin();
    int done = real(descriptor, size);
    if (done == 0) note('t', path, size, "", 0);
    end();
    return done;
}

/* What a test writes need not survive a loss of power: the disk is not waited for. */
EXPORT int fsync(int descriptor) {
    static __typeof__(&fsync) real;
    char path[PATH_MAX];
    if (!real) real = REAL(fsync);
    if (!named(descriptor, path)) return real(descriptor);
    begin();
    note('s', path, 0, "", 0);
    end();
    return 0;
}

EXPORT int fdatasync(int descriptor) { return fsync(descriptor); }

EXPORT int unlink(const char *path) {
    static __typeof__(&unlink) real;
    if (!real) real = REAL(unlink);
    if (!is_ours(path)) return real(path);
    begin();
    int done = real(path);
    if (done == 0) note('u', path, 0, "", 0);
    end();
    return done;
}

static int created(int directory, const char *path, int flags, mode_t mode) {
    static int (*real)(int, const char *, int, ...);
    if (!real) real = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat64");
    if (!(flags & O_CREAT) || !is_ours(path) || access(path, F_OK) == 0)
        return real(directory, path, flags, mode);
    begin();
    int descriptor = real(directory, path, flags, mode);
    if (descriptor >= 0) note('c', path, 0, "", 0);
    end();
    return descriptor;
}

#define MODE(mode) \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest)

EXPORT int open64(const char *path, int flags, ...) {
    MODE(mode);
    return created(AT_FDCWD, path, flags, mode);
}

EXPORT int open(const char *path, int flags, ...) {
    MODE(mode);
    return created(AT_FDCWD, path, flags, mode);
}

EXPORT int openat64(int directory, const char *path, int flags, ...) {
    MODE(mode);
    return created(directory, path, flags, mode);
}
