#!/bin/sh
# Installs the WaterH commands from this folder, on any Linux with glibc.
#
# usage: ./install.sh [--prefix DIR] [--no-service]
#   --prefix DIR    where to, by default /usr/local; below a home no root is needed, and there is no system service then
#   --no-service    only the commands, their pages and completions
# Uninstalling: PREFIX/share/waterh/uninstall.sh. It keeps drinks and configuration.
# DESTDIR is put before every path, as packagers of other distributions use it: then nothing is started, and no user is made.
set -eu

fail() { printf 'install.sh: %s\n' "$*" >&2; exit 1; }

here=$(cd "$(dirname "$0")" && pwd)
prefix=/usr/local
service=yes
while [ $# -gt 0 ]; do
    case $1 in
        --prefix) [ $# -ge 2 ] || fail "--prefix needs a folder"; prefix=$2; shift ;;
        --prefix=*) prefix=${1#--prefix=} ;;
        --no-service) service=no ;;
        -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) fail "there is no option $1 (--help lists them)" ;;
    esac
    shift
done
case $prefix in /*) ;; *) fail "--prefix is a folder from the root on, not $prefix" ;; esac
case $prefix in *[!A-Za-z0-9/._+-]*) fail "--prefix holds letters, digits and / . _ + - only: the units name it" ;; esac
root=${DESTDIR:-}
# A system service takes root, and a folder that every user may look into.
why=
[ "$(id -u)" = 0 ] || why='no root'
# Not every system has its users' homes below /home.
case $prefix/ in /home/* | /root/*) why="$prefix is below a home" ;; esac
case ${HOME:-/} in /?*) case $prefix/ in "${HOME%/}"/*) why=${why:-"$prefix is below a home"} ;; esac ;; esac
if [ "$service" = yes ] && [ -z "$root" ] && [ -n "$why" ]; then
    service=no
    printf 'install.sh: %s, so no system service. A service of your own: systemctl --user enable --now waterh-gateway-user\n' "$why"
fi

# Before anything is written: do the programs run here? Libraries that this system lacks come from this archive.
added=$(mktemp -d)
trap 'rm -rf "$added"' EXIT
lacking() { LD_LIBRARY_PATH=$added ldd "$here"/bin/* 2>/dev/null | sed -n 's/^[[:space:]]*\([^ ]*\) => not found.*/\1/p' | sort -u; }
while missing=$(lacking) && [ -n "$missing" ]; do
    for library in $missing; do
        [ -e "$here/libraries/$library" ] || fail "the programs do not run here: install what brings $library"
        cp "$here/libraries/$library" "$added/"
    done
done
for program in "$here"/bin/*; do
    LD_LIBRARY_PATH=$added "$program" --version >/dev/null 2>&1 || fail "$(basename "$program") does not run here"
done

list=$root$prefix/share/waterh/installed
mkdir -p "$root$prefix/share/waterh"
: >"$list.new"

# put MODE SOURCE TARGET: copies beside the target and puts it in its place at once, and notes it for the uninstall.
put() {
    mkdir -p "$(dirname "$root$3")"
    cp "$2" "$root$3.new-waterh"
    chmod "$1" "$root$3.new-waterh"
    mv -f "$root$3.new-waterh" "$root$3"
    printf '%s\n' "$3" >>"$list.new"
}

# put_unit SOURCE TARGET: a unit, with the commands where they are.
put_unit() {
    sed "s|/usr/local/bin/|$prefix/bin/|g; s|/usr/local/libexec/|$prefix/libexec/|g" "$1" >"$list.unit"
    put 644 "$list.unit" "$2"
    rm -f "$list.unit"
}

# One program under four names.
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
        # Debian's zsh looks there, and every other one here.
        share/zsh/vendor-completions/*) put 644 "$here/$file" "$prefix/share/zsh/site-functions/${file##*/}" ;;
        *) put 644 "$here/$file" "$prefix/$file" ;;
    esac
done
put 755 "$here/uninstall.sh" "$prefix/share/waterh/uninstall.sh"

# A home has its own place for units and configuration; everything else is the system's.
case $prefix in
    /usr | /usr/* | /opt/*) users=/etc/systemd/user ;;
    *) users=${XDG_CONFIG_HOME:-${HOME:-$prefix}/.config}/systemd/user ;;
esac
[ "$(id -u)" = 0 ] || [ -n "$root" ] || users=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user
for file in "$here"/units/user/*; do put_unit "$file" "$users/$(basename "$file")"; done

if [ "$service" = yes ]; then
    for file in "$here"/units/system/*; do put_unit "$file" "/etc/systemd/system/$(basename "$file")"; done
    # On a console fish looks below /usr and /etc only.
    for file in "$here"/share/fish/vendor_completions.d/*; do
        [ "$prefix" = /usr ] || [ ! -e "$file" ] || put 644 "$file" "/etc/fish/completions/$(basename "$file")"
    done
    put 644 "$here/units/waterh.sysusers" /usr/lib/sysusers.d/waterh.conf
    put 644 "$here/units/waterh-bus-policy.conf" /etc/dbus-1/system.d/waterh.conf
    put 644 "$here/units/70-waterh.rules" /etc/udev/rules.d/70-waterh.rules
    # What somebody wrote stays; the new example lies beside it.
    mkdir -p "$root/etc/waterh"
    if [ ! -e "$root/etc/waterh/waterh.toml" ]; then
        (umask 027 && cp "$here/etc/waterh.toml" "$root/etc/waterh/waterh.toml")
    elif ! cmp -s "$here/etc/waterh.toml" "$root/etc/waterh/waterh.toml"; then
        put 644 "$here/etc/waterh.toml" /etc/waterh/waterh.toml.new
    fi
fi

# What an older version had, and this one has not.
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
        printf 'install.sh: there is no systemd here: start the service as you start others, as the user waterh: %s/bin/waterh-gateway run\n' "$prefix"
    fi
fi
printf 'Installed below %s. Uninstall: %s/share/waterh/uninstall.sh\n' "$prefix" "$prefix"
