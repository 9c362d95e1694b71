/* Keeps what was synchronised, and nothing else: what a disk may still have after a power cut.
 *
 * Loaded before the C library (LD_PRELOAD). Each fsync and fdatasync of something below POWER_CUT_ROOT is done, and then
 * written down below POWER_CUT_KEPT: of a file its bytes, of a folder the names in it. Nothing else is: a file that was
 * created, renamed, linked or removed without its folder being synchronised afterwards is as it was before. Before the
 * sync of the number POWER_CUT_AT the process kills itself. `tests/torture/power_cut.py` makes a folder of what is kept.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long syncs;

/* An inode is used again when its file is gone; with the time of its birth it names one file. */
static int key_of(int folder, const char *name, int flags, char *key, size_t size, unsigned *mode) {
    struct statx found;
    if (statx(folder, name, flags, STATX_BASIC_STATS | STATX_BTIME, &found) != 0) return 0;
    snprintf(key, size, "%llu-%lld-%u", (unsigned long long)found.stx_ino, (long long)found.stx_btime.tv_sec,
             (unsigned)found.stx_btime.tv_nsec);
    *mode = found.stx_mode;
    return 1;
}

static void keep_file(int descriptor, FILE *kept) {
    char source[64], bytes[65536];
    snprintf(source, sizeof source, "/proc/self/fd/%d", descriptor);
    int from = open(source, O_RDONLY | O_CLOEXEC);
    for (ssize_t read_now; from >= 0 && (read_now = read(from, bytes, sizeof bytes)) > 0;)
        fwrite(bytes, 1, (size_t)read_now, kept);
    if (from >= 0) close(from);
}

static void keep_folder(int descriptor, FILE *kept) {
    char key[96];
    unsigned mode;
    int again = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = again >= 0 ? fdopendir(again) : NULL;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            key_of(descriptor, entry->d_name, AT_SYMLINK_NOFOLLOW, key, sizeof key, &mode))
            fprintf(kept, "%c %s %s\n", S_ISDIR(mode) ? 'd' : 'f', key, entry->d_name);
    if (folder != NULL) closedir(folder);
}

static void keep(int descriptor) {
    const char *root = getenv("POWER_CUT_ROOT"), *below = getenv("POWER_CUT_KEPT");
    char link[64], path[4096], key[96], written[4400], final[4400];
    unsigned mode;
    if (root == NULL || below == NULL) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return;
    path[length] = 0;
    if (strncmp(path, root, strlen(root)) != 0) return;
    if (!key_of(descriptor, "", AT_EMPTY_PATH, key, sizeof key, &mode)) return;
    const char *name = strcmp(path, root) == 0 ? "root" : key;
    snprintf(final, sizeof final, "%s/%s", below, name);
    snprintf(written, sizeof written, "%s/.%s-%ld", below, name, (long)syscall(SYS_gettid));
    FILE *kept = fopen(written, "w");
    if (kept == NULL) return;
    S_ISDIR(mode) ? keep_folder(descriptor, kept) : keep_file(descriptor, kept);
    fclose(kept);
    rename(written, final);
}

static void cut_in_time(int descriptor) {
    const char *at = getenv("POWER_CUT_AT"), *root = getenv("POWER_CUT_ROOT");
    char link[64], path[4096];
    if (at == NULL || root == NULL) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return;
    path[length] = 0;
    if (strncmp(path, root, strlen(root)) == 0 && atomic_fetch_add(&syncs, 1) + 1 == atol(at)) kill(getpid(), SIGKILL);
}

static int synchronised(const char *name, int descriptor) {
    int (*call)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    cut_in_time(descriptor);
    int result = call(descriptor);
    if (result == 0) keep(descriptor);
    return result;
}

int fsync(int descriptor) { return synchronised("fsync", descriptor); }

int fdatasync(int descriptor) { return synchronised("fdatasync", descriptor); }
