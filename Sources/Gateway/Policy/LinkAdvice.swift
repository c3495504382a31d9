import Bluetooth

/// What a person can try about an error, by the kind of way to the bottle: nobody wakes a recording with a shake.
public struct LinkAdvice: Sendable {
    private enum Way {
        /// bluetoothd: what the retry table says.
        case radio
        /// A program at the other end of a socket.
        case socket(path: String)
        /// A recording answers.
        case recording(file: String)
        /// An address, straight on the radio.
        case channel(address: String)
        /// Anything else without a radio.
        case cable
    }

    private let way: Way

    /// - Parameters:
    ///   - linkName: as in `unix:/tmp/b.sock`.
    ///   - hasRadio: counts where the name says nothing.
    public init(linkName: String, hasRadio: Bool) {
        switch try? LinkName(linkName) {
        case .bluez: way = .radio
        case .unix(let path): way = .socket(path: path)
        case .capture(let file): way = .recording(file: file)
        case .l2cap(let address): way = .channel(address: address)
        case nil: way = hasRadio ? .radio : .cable
        }
    }

    /// For an error of this class.
    public func about(_ code: LinkError.Code) -> String {
        let usual = RetryTable.rule(for: code).advice
        return switch way {
        case .radio: usual
        case .socket(let path): Self.socket(code, path)
        case .recording(let file): Self.recording(code, file)
        case .channel(let address): Self.channel(code, address) ?? usual
        case .cable: code == .protocolViolation || code == .refused ? usual : "Poll again."
        }
    }

    /// For a conversation that broke off or was never through; `comfort` says what is not lost.
    func brokenOff(_ comfort: String) -> String {
        switch way {
        case .radio, .channel: "Bring the bottle nearer and poll again: \(comfort)"
        case .socket: "See what the program at the other end says, and poll again: \(comfort)"
        case .recording(let file): Self.recorded(file)
        case .cable: "Poll again: \(comfort)"
        }
    }

    /// For a bottle that says nothing.
    var silent: String {
        switch way {
        case .radio, .channel: "Wake the bottle (lid or a shake) and poll again: nothing was lost."
        case .socket, .recording, .cable: brokenOff("nothing was lost.")
        }
    }

    /// For a connection that carries too little at a time.
    var smallMTU: String {
        switch way {
        case .radio: "Poll again; if it stays so, look for ExchangeMTU under [GATT] in /etc/bluetooth/main.conf (517 is usual), and for another program that connects first."
        case .socket, .channel, .cable: "See that the other end agrees on an MTU of \(BottleSession.logMTU) or more."
        case .recording(let file): Self.recorded(file)
        }
    }

    private static func socket(_ code: LinkError.Code, _ path: String) -> String {
        switch code {
        case .notFound, .connectFailed, .timeout:
            "See that a bottle runs at the other end (waterh-emulator run --link unix:\(path)), and try again."
        case .inProgress: "A bottle takes one connection: stop the other program that talks to it, or wait."
        case .disconnected: "See what the program at the other end says, and poll again: what was received is stored, the rest is still in the bottle."
        case .permissionDenied: "Look who may use \(path) (ls -l)."
        case .refused, .protocolViolation: "Is the program at the other end a WaterH bottle? See what it says, or let it record the link (waterh-emulator run --record)."
        case .noAdapter, .serviceLost, .system: "See that \(path) is there and that you may use it."
        default: "Poll again."
        }
    }

    private static func recording(_ code: LinkError.Code, _ file: String) -> String {
        code == .notFound ? "'waterh-replay info \(file)' tells which bottles are in it; name one with --bottle." : recorded(file)
    }

    private static func recorded(_ file: String) -> String {
        "A recording answers only what it holds: 'waterh-replay info \(file)' tells what that is."
    }

    private static func channel(_ code: LinkError.Code, _ address: String) -> String? {
        switch code {
        case .notFound, .connectFailed, .timeout:
            "See that the address is right and the bottle awake and near, and that nothing holds its only connection: the phone app, or bluetoothd (bluetoothctl disconnect \(address))."
        case .poweredOff: "Switch an adapter on (bluetoothctl power on, or hciconfig hci0 up)."
        case .permissionDenied: "This link needs root, or the capabilities CAP_NET_ADMIN and CAP_NET_RAW; the link bluez needs neither."
        default: nil
        }
    }
}
