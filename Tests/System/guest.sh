# Functions of the tests in a test VM with systemd.
export DEBIAN_FRONTEND=noninteractive
failed=0

# check WHAT COMMAND…: runs the command, and prints its output if it fails.
check() {
    local what=$1 output
    shift
    if output=$("$@" 2>&1); then echo "ok      $what"; else
        failed=$((failed + 1))
        echo "FAILED  $what"
        printf '%s\n' "$output" | tail -n 25 | sed 's/^/        /'
    fi
}
# within SECONDS COMMAND…: repeats the command until it succeeds.
within() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do [ $SECONDS -lt $end ] || return 1; sleep 0.3; done
}
install() { apt-get install -y -q --no-install-recommends --allow-downgrades "$@"; }
