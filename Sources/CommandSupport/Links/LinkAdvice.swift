package import Bluetooth

/// The advice for errors of a link on the command line.
package struct LinkAdvice: Sendable {
    package enum Adviser: Sendable {
        case gateway
        /// Advice for an emulator, which cannot use a capture as its link.
        case emulator
        /// Advice of the doctor, which does not recommend itself.
        case doctor
    }

    private let link: LinkName?
    private let hasRadio: Bool
    private let adviser: Adviser

    /// - Parameters:
    ///   - linkName: as in `unix:/tmp/b.sock`.
    ///   - hasRadio: whether the link has a radio, used if `linkName` is not a valid link.
    package init(linkName: String, hasRadio: Bool, by adviser: Adviser = .gateway) {
        (link, self.hasRadio, self.adviser) = (try? LinkName(linkName), hasRadio, adviser)
    }

    package func about(_ code: LinkError.Code) -> String {
        switch link {
        case .unix(let path), .stream(let path): socket(code, path)
        case .capture(let file):
            code == .notFound
                ? "Name a bottle of the capture with --bottle; 'waterh-replay info \(file)' lists them."
                : Self.captureAdvice(file)
        case .l2cap(let address): l2cap(code, address) ?? radio(code)
        case .hci(let endpoint) where code == .noAdapter:
            "Start a controller with HCI at \(endpoint), for example a virtual controller of Bumble, or netsim."
        case .esphome(let endpoint): proxy(code, endpoint) ?? radio(code)
        case .bluez, .hci: radio(code)
        case nil: hasRadio || code == .protocolViolation || code == .refused ? radio(code) : "Poll again."
        }
    }

    /// Advice for a lost connection. `reassurance` says which data is safe.
    package func lostLink(_ reassurance: String) -> String {
        switch link {
        case .unix, .stream: "Check the output of the program at the other end, and poll again: \(reassurance)"
        case .capture(let file): Self.captureAdvice(file)
        case nil where !hasRadio: "Poll again: \(reassurance)"
        default: "Bring the bottle nearer and poll again: \(reassurance)"
        }
    }

    package var silent: String {
        switch link {
        case .unix, .stream, .capture: lostLink("nothing was lost.")
        case nil where !hasRadio: lostLink("nothing was lost.")
        default: "Wake the bottle (lid or a shake) and poll again: nothing was lost."
        }
    }

    /// Advice for an MTU that is too small.
    /// - Parameter mtu: the MTU that a log requires.
    package func smallMTU(_ mtu: String) -> String {
        switch link {
        case .capture(let file): Self.captureAdvice(file)
        case .bluez:
            """
            Poll again; if it fails again, check ExchangeMTU under [GATT] in /etc/bluetooth/main.conf (517 is usual), \
            and for another program that connects first.
            """
        default: "Set an MTU of \(mtu) or more at the other end of the link."
        }
    }

    private func radio(_ code: LinkError.Code) -> String {
        let others = adviser == .emulator ? "--link unix:PATH" : "--link unix:PATH or capture:FILE"
        let doctor = adviser == .doctor ? "" : ", or run: waterh-gateway doctor"
        return switch code {
        case .noAdapter: "Plug an adapter in, or use a link without hardware: \(others)."
        case .poweredOff: "Switch the adapter on: bluetoothctl power on (or rfkill unblock bluetooth)."
        case .permissionDenied: "Join the group bluetooth (adduser USER bluetooth) and log in again\(doctor)"
        case .notFound:
            "Wake the bottle (lid or a shake), bring it nearer, and close the phone app: it accepts one connection."
        case .connectFailed: "Bring the bottle nearer, and close the phone app: a bottle accepts one connection."
        case .inProgress:
            "Stop the other program that is connected to the bottle, or restart Bluetooth: systemctl restart bluetooth"
        case .disconnected:
            "Bring the bottle nearer and poll again. Received records are stored, the others are still in the bottle."
        case .timeout: "Wake the bottle (lid or a shake) and poll again: nothing was lost."
        case .refused, .protocolViolation:
            "If this is a WaterH bottle, record the connection (waterh-replay record) and report it."
        case .invalidState: "Poll again."
        case .serviceLost: "Start bluetoothd (systemctl start bluetooth)\(doctor). Without an adapter use \(others)."
        case .system: "Try again\(doctor)"
        }
    }

    private func socket(_ code: LinkError.Code, _ path: String) -> String {
        switch code {
        case .notFound, .connectFailed, .timeout:
            "Start a bottle at the other end: waterh-emulator run --link \(link.map { "\($0)" } ?? path)"
        case .inProgress: "A bottle accepts one connection: stop the other program that is connected, or wait."
        case .disconnected:
            """
            Check the output of the program at the other end, and poll again: the received records are stored, the \
            others are still in the bottle.
            """
        case .permissionDenied: "Check the permissions: ls -l \(path)"
        case .refused, .protocolViolation:
            "Check that the other end is a WaterH bottle, or record the link: waterh-emulator run --record FILE"
        case .noAdapter, .serviceLost, .system: "Check that \(path) exists, and its permissions: ls -l \(path)"
        default: "Poll again."
        }
    }

    private func l2cap(_ code: LinkError.Code, _ address: String) -> String? {
        switch code {
        case .notFound, .connectFailed, .timeout:
            """
            Check the address, wake the bottle and bring it nearer. Close the other connection: the phone app, or \
            bluetoothctl disconnect \(address)
            """
        case .poweredOff: "Switch an adapter on: bluetoothctl power on (or hciconfig hci0 up)."
        case .permissionDenied: "Run as root, or with CAP_NET_ADMIN and CAP_NET_RAW. The link bluez needs neither."
        default: nil
        }
    }

    private func proxy(_ code: LinkError.Code, _ endpoint: NetworkEndpoint) -> String? {
        switch code {
        case .noAdapter:
            "Check that an ESPHome device with 'api:' and 'bluetooth_proxy:' (active: true) answers at \(endpoint)."
        case .permissionDenied:
            "Set WATERH_ESPHOME_KEY to the device's key ('api: encryption: key:'); unset it if the device has none."
        case .notFound, .timeout:
            """
            Wake the bottle near the proxy, and disconnect the proxy's other client: it serves one program at a time, \
            and Home Assistant is a client of each proxy that it has added.
            """
        case .inProgress: "Wait until a connection of the proxy is free, or increase its 'connection_slots:'."
        default: nil
        }
    }

    private static func captureAdvice(_ file: String) -> String {
        "A capture responds only with what was recorded. List it with: waterh-replay info \(file)"
    }
}
