#!/bin/sh
# Installs the WaterH commands from this folder, on any Linux with glibc.
#
# usage: ./install.sh [--prefix DIR] [--no-service]
#   --prefix DIR    install into this folder (default /usr/local); below a home directory without root and without a system service
#   --no-service    install only the commands, their manual pages and completions
# Uninstall: PREFIX/share/waterh/uninstall.sh. It keeps the drinks and the configuration.
# DESTDIR is put before every path, for packagers. Then nothing is started, and no user is created.
set -eu

fail() { printf 'install.sh: %s\n' "$*" >&2; exit 1; }

here=$(cd "$(dirname "$0")" && pwd)
prefix=/usr/local
service=yes
while [ $# -gt 0 ]; do
    case $1 in
        --prefix) [ $# -ge 2 ] || fail "--prefix requires a directory: --prefix /usr/local"; prefix=$2; shift ;;
        --prefix=*) prefix=${1#--prefix=} ;;
        --no-service) service=no ;;
        -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) fail "unknown option $1 (see --help)" ;;
    esac
    shift
done
case $prefix in /*) ;; *) fail "invalid --prefix $prefix: expected an absolute path" ;; esac
case $prefix in *[!A-Za-z0-9/._+-]*) fail "invalid --prefix $prefix: expected letters, digits and / . _ + -, because the units name it" ;; esac
root=${DESTDIR:-}
# A system service requires root, and a folder that every user can read.
why=
[ "$(id -u)" = 0 ] || why='You are not root'
# Some systems have home directories outside /home.
case $prefix/ in /home/* | /root/*) why="$prefix is below a home directory" ;; esac
case ${HOME:-/} in /?*) case $prefix/ in "${HOME%/}"/*) why=${why:-"$prefix is below a home directory"} ;; esac ;; esac
if [ "$service" = yes ] && [ -z "$root" ] && [ -n "$why" ]; then
    service=no
    printf 'install.sh: %s, so no system service is installed. For a user service, type: systemctl --user enable --now waterh-gateway-user\n' "$why"
fi

# Check that the programs run before anything is written. The archive has libraries that the system can lack.
added=$(mktemp -d)
trap 'rm -rf "$added"' EXIT
lacking() { LD_LIBRARY_PATH=$added ldd "$here"/bin/* 2>/dev/null | sed -n 's/^[[:space:]]*\([^ ]*\) => not found.*/\1/p' | sort -u; }
while missing=$(lacking) && [ -n "$missing" ]; do
    for library in $missing; do
        [ -e "$here/libraries/$library" ] || fail "the programs do not run: $library is missing. Install the package that has it, and try again. Nothing was installed."
        cp "$here/libraries/$library" "$added/"
    done
done
for program in "$here"/bin/*; do
    LD_LIBRARY_PATH=$added "$program" --version >/dev/null 2>&1 || fail "$(basename "$program") does not run on this system. Nothing was installed."
done

list=$root$prefix/share/waterh/installed
mkdir -p "$root$prefix/share/waterh"
: >"$list.new"

# put MODE SOURCE TARGET: copies a file, replaces the target atomically, and records it for uninstall.sh.
put() {
    mkdir -p "$(dirname "$root$3")"
    cp "$2" "$root$3.new-waterh"
    chmod "$1" "$root$3.new-waterh"
    mv -f "$root$3.new-waterh" "$root$3"
    printf '%s\n' "$3" >>"$list.new"
}

# put_unit SOURCE TARGET: copies a unit with the installed paths of the commands.
put_unit() {
    sed "s|/usr/local/bin/|$prefix/bin/|g; s|/usr/local/libexec/|$prefix/libexec/|g" "$1" >"$list.unit"
    put 644 "$list.unit" "$2"
    rm -f "$list.unit"
}

# Links one program under four names.
first=
for file in "$here"/bin/*; do
    if [ -n "$first" ] && [ "$file" -ef "$here/bin/$first" ] && ln -f "$root$prefix/bin/$first" "$root$prefix/bin/$(basename "$file").new-waterh" 2>/dev/null; then
        mv -f "$root$prefix/bin/$(basename "$file").new-waterh" "$root$prefix/bin/$(basename "$file")"
        printf '%s\n' "$prefix/bin/$(basename "$file")" >>"$list.new"
    else
        put 755 "$file" "$prefix/bin/$(basename "$file")"
    fi
    first=${first:-$(basename "$file")}
done
if [ -n "$(ls "$added")" ]; then
    for file in "$added"/*; do put 755 "$file" "$prefix/lib/waterh/$(basename "$file")"; done
    for file in "$here"/libraries/licences/*; do put 644 "$file" "$prefix/share/doc/waterh/libraries/$(basename "$file")"; done
fi
[ ! -e "$here/libexec/swift-backtrace" ] || put 755 "$here/libexec/swift-backtrace" "$prefix/libexec/waterh/swift-backtrace"
(cd "$here" && find share -type f) | sort | while read -r file; do
    case $file in
        # Only Debian's zsh reads vendor-completions.
        share/zsh/vendor-completions/*) put 644 "$here/$file" "$prefix/share/zsh/site-functions/${file##*/}" ;;
        *) put 644 "$here/$file" "$prefix/$file" ;;
    esac
done
put 755 "$here/uninstall.sh" "$prefix/share/waterh/uninstall.sh"

# User units are below the configuration directory of a home, or below /etc for a system.
case $prefix in
    /usr | /usr/* | /opt/*) users=/etc/systemd/user ;;
    *) users=${XDG_CONFIG_HOME:-${HOME:-$prefix}/.config}/systemd/user ;;
esac
[ "$(id -u)" = 0 ] || [ -n "$root" ] || users=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user
for file in "$here"/units/user/*; do put_unit "$file" "$users/$(basename "$file")"; done

if [ "$service" = yes ]; then
    for file in "$here"/units/system/*; do put_unit "$file" "/etc/systemd/system/$(basename "$file")"; done
    # On a console, fish reads only /usr and /etc.
    for file in "$here"/share/fish/vendor_completions.d/*; do
        [ "$prefix" = /usr ] || [ ! -e "$file" ] || put 644 "$file" "/etc/fish/completions/$(basename "$file")"
    done
    put 644 "$here/units/waterh.sysusers" /usr/lib/sysusers.d/waterh.conf
    put 644 "$here/units/waterh-bus-policy.conf" /etc/dbus-1/system.d/waterh.conf
    put 644 "$here/units/70-waterh.rules" /etc/udev/rules.d/70-waterh.rules
    # A changed configuration is kept; the new example is next to it.
    mkdir -p "$root/etc/waterh"
    if [ ! -e "$root/etc/waterh/waterh.toml" ]; then
        (umask 027 && cp "$here/etc/waterh.toml" "$root/etc/waterh/waterh.toml")
    elif ! cmp -s "$here/etc/waterh.toml" "$root/etc/waterh/waterh.toml"; then
        put 644 "$here/etc/waterh.toml" /etc/waterh/waterh.toml.new
    fi
fi

# Delete the files that only the older version had.
if [ -f "$list" ]; then
    grep -Fvxf "$list.new" "$list" | while read -r file; do rm -f "$root$file"; done || true
fi
mv -f "$list.new" "$list"

if [ "$service" = yes ] && [ -z "$root" ]; then
    if ! getent passwd waterh >/dev/null; then
        if command -v systemd-sysusers >/dev/null; then
            systemd-sysusers
        else
            getent group waterh >/dev/null || groupadd --system waterh
            useradd --system --gid waterh --home-dir /var/lib/waterh --no-create-home --shell /usr/sbin/nologin waterh
        fi
    fi
    getent group waterh >/dev/null || groupadd --system waterh
    [ -d /var/lib/waterh ] || [ -L /var/lib/waterh ] || install -d -o waterh -g waterh -m 0750 /var/lib/waterh
    chgrp waterh /etc/waterh/waterh.toml
    if [ -d /run/systemd/system ]; then
        systemctl daemon-reload
        udevadm control --reload >/dev/null 2>&1 || true
        systemctl reload dbus >/dev/null 2>&1 || true
        systemctl enable waterh-gateway.service
        systemctl restart waterh-gateway.service
    else
        printf 'install.sh: systemd is not running. Start the service as the user waterh: %s/bin/waterh-gateway run\n' "$prefix"
    fi
fi
printf 'Installed in %s. To uninstall, type: %s/share/waterh/uninstall.sh\n' "$prefix" "$prefix"
