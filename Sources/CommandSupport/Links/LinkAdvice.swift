import Bluetooth

/// What a person can try about an error on this command line, by the kind of way to the bottle: a recording cannot be
/// shaken awake.
package struct LinkAdvice: Sendable {
    private enum Way {
        /// bluetoothd.
        case radio
        /// A program at the other end of a socket.
        case socket(name: String, path: String)
        /// A recording answers.
        case recording(file: String)
        /// An address, straight on the radio.
        case channel(address: String)
        /// A controller behind a stream.
        case controller(place: String)
        /// A Bluetooth proxy of ESPHome's.
        case proxy(place: String)
        /// Anything else without a radio.
        case cable
    }

    /// Who gives it.
    package enum Adviser: Sendable {
        case gateway
        /// A bottle: no recording is a link of its.
        case emulator
        /// Who need not be named any more.
        case doctor
    }

    private let way: Way
    private let adviser: Adviser

    /// - Parameters:
    ///   - linkName: as in `unix:/tmp/b.sock`.
    ///   - hasRadio: counts where the name says nothing.
    package init(linkName: String, hasRadio: Bool, by adviser: Adviser = .gateway) {
        self.adviser = adviser
        switch try? LinkName(linkName) {
        case .bluez: way = .radio
        case .unix(let path), .stream(let path): way = .socket(name: linkName, path: path)
        case .capture(let file): way = .recording(file: file)
        case .l2cap(let address): way = .channel(address: address)
        case .hci(let place): way = .controller(place: place.description)
        case .esphome(let place): way = .proxy(place: place.description)
        case nil: way = hasRadio ? .radio : .cable
        }
    }

    /// For an error of this class.
    package func about(_ code: LinkError.Code) -> String {
        let usual = radio(code)
        return switch way {
        case .radio: usual
        case .socket(let name, let path): Self.socket(code, name, path)
        case .recording(let file): Self.recording(code, file)
        case .channel(let address): Self.channel(code, address) ?? usual
        case .controller(let place): Self.controller(code, place) ?? usual
        case .proxy(let place): Self.proxy(code, place) ?? usual
        case .cable: code == .protocolViolation || code == .refused ? usual : "Poll again."
        }
    }

    /// For a conversation that broke off or was never through; `comfort` says what is not lost.
    package func brokenOff(_ comfort: String) -> String {
        switch way {
        case .radio, .channel, .controller, .proxy: "Bring the bottle nearer and poll again: \(comfort)"
        case .socket: "See what the program at the other end says, and poll again: \(comfort)"
        case .recording(let file): Self.recorded(file)
        case .cable: "Poll again: \(comfort)"
        }
    }

    /// For a bottle that says nothing.
    package var silent: String {
        switch way {
        case .radio, .channel, .controller, .proxy: "Wake the bottle (lid or a shake) and poll again: nothing was lost."
        case .socket, .recording, .cable: brokenOff("nothing was lost.")
        }
    }

    /// For a connection that carries too little at a time.
    /// - Parameter mtu: what it needs.
    package func smallMTU(_ mtu: String) -> String {
        switch way {
        case .radio:
            """
            Poll again; if it stays so, look for ExchangeMTU under [GATT] in /etc/bluetooth/main.conf (517 is \
            usual), and for another program that connects first.
            """
        case .socket, .channel, .controller, .proxy, .cable:
            "See that the other end agrees on an MTU of \(mtu) or more."
        case .recording(let file): Self.recorded(file)
        }
    }

    private func radio(_ code: LinkError.Code) -> String {
        let others = adviser == .emulator ? "--link unix:PATH" : "--link unix:PATH or capture:FILE"
        let doctor = { (what: String) in adviser == .doctor ? "" : "; waterh-gateway doctor \(what)" }
        return switch code {
        case .noAdapter: "Plug one in, or use a link without hardware: \(others)."
        case .poweredOff: "Switch the adapter on (bluetoothctl power on, or rfkill unblock bluetooth)."
        case .permissionDenied:
            """
            Run as a member of the group bluetooth (adduser USER bluetooth, then log in \
            anew)\(doctor("looks for the rest")).
            """
        case .notFound:
            """
            Wake the bottle (lid or a shake), bring it nearer, and close the phone app that may hold its only \
            connection.
            """
        case .connectFailed: "Bring the bottle nearer, and close the phone app that may hold its only connection."
        case .inProgress: "Stop the other program that talks to the bottle, or restart Bluetooth."
        case .disconnected:
            "Bring the bottle nearer and poll again: what was received is stored, the rest is still in the bottle."
        case .timeout: "Wake the bottle (lid or a shake) and poll again: nothing was lost."
        case .refused, .protocolViolation:
            "If this is a WaterH bottle, record the connection (waterh-replay record) and report it."
        case .outOfStep: "Poll again."
        case .serviceLost:
            """
            See whether bluetoothd runs (systemctl status bluetooth)\(doctor("says what is missing")). Without an \
            adapter use \(others).
            """
        default: "Try again\(doctor("looks for the usual causes"))."
        }
    }

    private static func socket(_ code: LinkError.Code, _ name: String, _ path: String) -> String {
        switch code {
        case .notFound, .connectFailed, .timeout:
            "See that a bottle runs at the other end (waterh-emulator run --link \(name)), and try again."
        case .inProgress: "A bottle takes one connection: stop the other program that talks to it, or wait."
        case .disconnected:
            """
            See what the program at the other end says, and poll again: what was received is stored, the rest is \
            still in the bottle.
            """
        case .permissionDenied: "Look who may use \(path) (ls -l)."
        case .refused, .protocolViolation:
            """
            Is the program at the other end a WaterH bottle? See what it says, or let it record the link \
            (waterh-emulator run --record).
            """
        case .noAdapter, .serviceLost, .system: "See that \(path) is there and that you may use it."
        default: "Poll again."
        }
    }

    private static func recording(_ code: LinkError.Code, _ file: String) -> String {
        code == .notFound
            ? "'waterh-replay info \(file)' tells which bottles are in it; name one with --bottle." : recorded(file)
    }

    private static func recorded(_ file: String) -> String {
        "A recording answers only what it holds: 'waterh-replay info \(file)' tells what that is."
    }

    private static func controller(_ code: LinkError.Code, _ place: String) -> String? {
        switch code {
        case .noAdapter:
            """
            See that something offers a controller's HCI at \(place): Bumble's virtual controllers, or netsim of \
            Android's emulator.
            """
        default: nil
        }
    }

    private static func proxy(_ code: LinkError.Code, _ place: String) -> String? {
        switch code {
        case .noAdapter:
            "See that an ESPHome device with 'api:' and 'bluetooth_proxy:' (active: true) answers at \(place)."
        case .permissionDenied:
            """
            Put the key of the device's configuration ('api: encryption: key:') into the environment as \
            WATERH_ESPHOME_KEY; for a device without one leave it out.
            """
        case .notFound, .timeout:
            """
            Wake the bottle (lid or a shake) near the proxy, and see that nobody else has the proxy: it serves one \
            program at a time, and Home Assistant keeps those that it has adopted.
            """
        case .inProgress: "Wait until a connection of the proxy is free, or raise its 'connection_slots:'."
        default: nil
        }
    }

    private static func channel(_ code: LinkError.Code, _ address: String) -> String? {
        switch code {
        case .notFound, .connectFailed, .timeout:
            """
            See that the address is right and the bottle awake and near, and that nothing holds its only \
            connection: the phone app, or bluetoothd (bluetoothctl disconnect \(address)).
            """
        case .poweredOff: "Switch an adapter on (bluetoothctl power on, or hciconfig hci0 up)."
        case .permissionDenied:
            "This link needs root, or the capabilities CAP_NET_ADMIN and CAP_NET_RAW; the link bluez needs neither."
        default: nil
        }
    }
}
