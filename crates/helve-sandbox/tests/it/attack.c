// What a hostile program tries. One attempt per start; says what the kernel answered.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static int say(long result) {
    puts(result < 0 ? strerrorname_np(errno) : "done");
    return 0;
}

static int reach(int family, int type, struct sockaddr *address, socklen_t length) {
    int s = socket(family, type, 0);
    if (s < 0)
        return printf("socket "), say(-1);
    if (connect(s, address, length) < 0)
        return printf("connect "), say(-1);
    return printf("send "), say(send(s, "x", 1, MSG_NOSIGNAL));
}

static int internet(int type, const char *port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return reach(AF_INET, type, (struct sockaddr *)&to, sizeof to);
}

static int local(const char *name, int abstract) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strncpy(to.sun_path + abstract, name, sizeof to.sun_path - 2);
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + abstract + strlen(name);
    return reach(AF_UNIX, SOCK_STREAM, (struct sockaddr *)&to, length);
}

int main(int count, char **given) {
    const char *what = count > 1 ? given[1] : "";
    const char *with = count > 2 ? given[2] : "";
    char buffer[256] = {0};
#define IS(name) (!strcmp(what, name))
    if (IS("umount")) return say(umount2(with, MNT_DETACH));
    if (IS("mount")) return say(mount("none", with, "tmpfs", 0, NULL));
    if (IS("remount")) return say(mount(NULL, with, NULL, MS_REMOUNT | MS_BIND, NULL));
    if (IS("open_tree")) return say(syscall(SYS_open_tree, AT_FDCWD, "/", 1));
    if (IS("unshare")) return say(unshare(CLONE_NEWUSER | CLONE_NEWNS));
    if (IS("clone")) return say(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
    if (IS("clone3")) return say(syscall(SYS_clone3, NULL, 0));
    if (IS("setns")) return say(setns(open("/proc/self/ns/mnt", O_RDONLY), 0));
    if (IS("chroot")) return say(chroot("/tmp"));
    if (IS("pivot_root")) return say(syscall(SYS_pivot_root, "/tmp", "/tmp"));
    if (IS("ptrace")) return say(ptrace(PTRACE_TRACEME, 0, 0, 0));
    if (IS("process_vm")) return say(syscall(SYS_process_vm_readv, 1, 0, 0, 0, 0, 0));
    if (IS("io_uring")) return say(syscall(SYS_io_uring_setup, 1, buffer));
    if (IS("bpf")) return say(syscall(SYS_bpf, 0, buffer, sizeof buffer));
    if (IS("perf")) return say(syscall(SYS_perf_event_open, buffer, 0, -1, -1, 0));
    if (IS("userfaultfd")) return say(syscall(SYS_userfaultfd, 1));
    if (IS("keyctl")) return say(syscall(SYS_keyctl, 0, -3, 1));
    if (IS("handle")) return say(syscall(SYS_open_by_handle_at, AT_FDCWD, buffer, 0));
    if (IS("sti")) return say(ioctl(0, TIOCSTI, "x"));
    if (IS("console")) return say(ioctl(0, TIOCLINUX, "\7"));
    if (IS("settime")) return say(syscall(SYS_clock_settime, 0, NULL));
    if (IS("hostname")) return say(sethostname("x", 1));
#ifdef __x86_64__
    if (IS("i386")) {
        long result;
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "r8", "r9", "r10", "r11", "memory");
        errno = -result;
        return say(result < 0 ? -1 : 0);
    }
    if (IS("x32")) return say(syscall(0x40000000 + 39));
#endif
    if (IS("mknod")) return say(mknod(with, S_IFBLK | 0666, 0xfe00));
    if (IS("setxattr")) return say(setxattr(with, "user.x", "y", 1, 0));
    if (IS("write")) return say(open(with, O_WRONLY));
    if (IS("read")) return say(open(with, O_RDONLY));
    if (IS("chmod")) return say(chmod(with, 0777));
    if (IS("chown")) return say(chown(with, getuid(), getgid()));
    if (IS("utime")) return say(utimensat(AT_FDCWD, with, NULL, 0));
    if (IS("rename")) return say(rename(with, "/tmp/x"));
    if (IS("unlink")) return say(unlink(with));
    if (IS("kill")) return say(kill(atoi(with), SIGKILL));
    if (IS("tcp")) return internet(SOCK_STREAM, with);
    if (IS("udp")) return internet(SOCK_DGRAM, with);
    if (IS("abstract")) return local(with, 1);
    if (IS("unix")) return local(with, 0);
    if (IS("pair")) return say(socketpair(AF_UNIX, SOCK_STREAM, 0, (int *)buffer));
    if (IS("vsock")) return say(socket(40, SOCK_STREAM, 0));
    if (IS("descriptors")) {
        for (int fd = 0; fd < 4096; fd++)
            if (fcntl(fd, F_GETFD) >= 0) printf("%d ", fd);
        return puts("."), 0;
    }
    if (IS("raise")) return raise(atoi(with)), 99;
    return 98;
}
