import Bluetooth
import CLinux
import DBus
import Glibc

/// The methods that bluetoothd calls for a central's operations, and the application's responses to them.
extension BlueZPeripheralLink {
    private static func error(_ name: String, _ message: String = "") -> DBusReply {
        .failure("org.bluez.Error." + name, message)
    }

    /// The central in a call's options. A central that connected before the application was published is added here.
    private func central(_ options: [String: DBusValue]) -> CentralID? {
        guard let path = options["device"]?.text else { return nil }
        connectionChanged(path, true)
        guard let central = centrals[path] else { return nil }
        if let mtu = options["mtu"]?.integer, (23...517).contains(mtu), mtu != central.mtu {
            centrals[path]?.mtu = mtu
            emit(.mtuChanged(central.id, mtu))
        }
        return central.id
    }

    private func nextToken(_ call: DBusInvocation, isRead: Bool, longRead: BluetoothUUID? = nil) -> UInt64 {
        lastToken += 1
        pendingCalls[lastToken] = PendingCall(token: call.token, isRead: isRead, longRead: longRead)
        return lastToken
    }

    private var isOverloaded: Bool { pendingCalls.count >= Self.pendingLimit || eventQueue.count >= Self.eventLimit }

    func readValue(_ uuid: BluetoothUUID, _ call: DBusInvocation) -> DBusReply {
        guard let characteristic = characteristics[uuid], characteristic.definition.properties.contains(.read) else {
            return Self.error("NotPermitted")
        }
        let options = call.arguments[0].dictionary ?? [:]
        let offset = options["offset"]?.integer ?? 0
        if let constant = characteristic.definition.constant { return Self.part(of: constant, from: offset) }
        if offset > 0, offset <= characteristic.lastRead.count {
            return Self.part(of: characteristic.lastRead, from: offset)
        }
        guard let central = central(options) else { return Self.error("Failed", "unknown central") }
        guard !isOverloaded else { return Self.error("Failed", "busy") }
        emit(
            .read(
                central, uuid, offset: offset, token: nextToken(call, isRead: true, longRead: offset == 0 ? uuid : nil))
        )
        return .deferred
    }

    static func part(of value: [UInt8], from offset: Int) -> DBusReply {
        guard (0...value.count).contains(offset) else { return error("InvalidOffset") }
        return .values([.bytes(Array(value[offset...]))])
    }

    func writeValue(_ uuid: BluetoothUUID, _ call: DBusInvocation) -> DBusReply {
        guard let characteristic = characteristics[uuid],
            !characteristic.definition.properties.isDisjoint(with: [.write, .writeWithoutResponse])
        else {
            return Self.error("NotPermitted")
        }
        let options = call.arguments[1].dictionary ?? [:]
        // bluetoothd asks whether a prepared write is permitted; a call with the whole value follows.
        if options["prepare-authorize"]?.bool == true { return .done }
        guard (options["offset"]?.integer ?? 0) == 0 else { return Self.error("InvalidOffset") }
        guard let value = call.arguments[0].byteArray, value.count <= 512 else {
            return Self.error("InvalidValueLength")
        }
        guard let central = central(options) else { return Self.error("Failed", "unknown central") }
        guard !isOverloaded else { return Self.error("Failed", "busy") }
        // BlueZ 5.66 does not state the type, but expects no reply to a Write Command.
        guard options["type"]?.text != "command", call.expectsReply else {
            emit(.write(central, uuid, value: value, token: nil))
            return .done
        }
        emit(.write(central, uuid, value: value, token: nextToken(call, isRead: false)))
        return .deferred
    }

    // MARK: - Subscriptions

    func startNotify(_ uuid: BluetoothUUID) -> DBusReply {
        guard characteristics[uuid]?.isNotifying == false else {
            return Self.error("InProgress", "already notifying")
        }
        characteristics[uuid]?.isNotifying = true
        updateProperty(uuid, "Notifying", .boolean(true))
        for central in centrals.values { emit(.subscribed(central.id, uuid)) }
        return .done
    }

    func stopNotify(_ uuid: BluetoothUUID) -> DBusReply {
        guard characteristics[uuid]?.isNotifying == true else { return Self.error("Failed", "not notifying") }
        characteristics[uuid]?.isNotifying = false
        updateProperty(uuid, "Notifying", .boolean(false))
        for central in centrals.values { emit(.unsubscribed(central.id, uuid)) }
        return .done
    }

    func acquireNotify(_ uuid: BluetoothUUID, _ call: DBusInvocation) -> DBusReply {
        let options = call.arguments[0].dictionary ?? [:]
        guard let device = options["device"]?.text, let central = central(options), let mtu = centrals[device]?.mtu
        else {
            return Self.error("Failed", "unknown central")
        }
        var sockets: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &sockets) == 0 else { return Self.error("Failed", "too many open files") }
        let socket = PacketSocket(descriptor: sockets[0], isConnecting: false, queue: executor.queue) {
            [weak self] event in
            self?.assumeIsolated { $0.socket(device, uuid, event) }
        }
        characteristics[uuid]?.sockets.updateValue(Subscriber(socket: socket), forKey: device)?.socket.close()
        updateProperty(uuid, "NotifyAcquired", .boolean(true))
        emit(.subscribed(central, uuid))
        return .values([.fileDescriptor(OwnedDescriptor(sockets[1])), .uint16(UInt16(clamping: mtu))])
    }

    private func socket(_ device: String, _ uuid: BluetoothUUID, _ event: PacketSocket.Event) {
        switch event {
        case .drained:
            let sent = characteristics[uuid]?.sockets[device]?.pending ?? 0
            characteristics[uuid]?.sockets[device]?.pending = 0
            for _ in 0..<sent { emit(.notified(uuid)) }
        case .ended:
            guard characteristics[uuid]?.sockets.removeValue(forKey: device) != nil else { return }
            if characteristics[uuid]?.sockets.isEmpty == true {
                updateProperty(uuid, "NotifyAcquired", .boolean(false))
            }
            if let central = centrals[device] { emit(.unsubscribed(central.id, uuid)) }
        case .connected, .connectFailed, .received, .congested: break
        }
    }

    /// Removes the subscriptions of a disconnected central; with an `id` of `nil`, no event is sent.
    func removeSubscriptions(of device: String, _ id: CentralID?) {
        for uuid in characteristics.keys.sorted(by: { $0.fullDescription < $1.fullDescription }) {
            characteristics[uuid]?.lastRead = []
            let socket = characteristics[uuid]?.sockets.removeValue(forKey: device)
            socket?.socket.close()
            if socket != nil { updateProperty(uuid, "NotifyAcquired", .boolean(false)) }
            let wasNotifying = characteristics[uuid]?.isNotifying == true
            if wasNotifying {
                characteristics[uuid]?.isNotifying = false
                updateProperty(uuid, "Notifying", .boolean(false))
            }
            if let id, socket != nil || wasNotifying { emit(.unsubscribed(id, uuid)) }
        }
    }

    private func updateProperty(_ uuid: BluetoothUUID, _ property: String, _ value: DBusValue) {
        guard let path = characteristics[uuid]?.path else { return }
        service.assumeIsolated { service in
            service.connection?.assumeIsolated { $0.setProperty(path, BlueZName.gattCharacteristic, property, value) }
        }
    }

    // MARK: - Requests

    func begin(_ request: PeripheralRequest) {
        guard !isClosed else { return }
        switch request {
        case .respond(let token, let response): respond(token, response)
        case .notify(let uuid, let value): notify(uuid, value)
        case .disconnect(let id):
            guard let path = centrals.first(where: { $0.value.id == id })?.key else { return }
            Task { await service.disconnect(path) }
        case .advertise(let isRequested):
            isAdvertisingRequested = isRequested
            update()
        }
    }

    private func respond(_ token: UInt64, _ response: PeripheralRequest.Response) {
        guard let pending = pendingCalls.removeValue(forKey: token) else { return }
        let result: Result<[DBusValue], DBusFailure>
        switch response {
        case .value(let value):
            let value = Array(value.prefix(512))
            if let uuid = pending.longRead { characteristics[uuid]?.lastRead = value }
            result = .success(pending.isRead ? [.bytes(value)] : [])
        case .error(let code): result = .failure(Self.failure(code))
        }
        service.assumeIsolated { service in
            service.connection?.assumeIsolated { $0.answer(pending.token, result) }
        }
    }

    /// ATT error codes as bluetoothd derives them from error names (src/gatt-database.c, dbus_error_to_att_ecode).
    private static func failure(_ code: UInt8) -> DBusFailure {
        switch code {
        case 0x02, 0x03: DBusFailure("org.bluez.Error.NotPermitted", "")
        case 0x05, 0x08: DBusFailure("org.bluez.Error.NotAuthorized", "")
        case 0x06: DBusFailure("org.bluez.Error.NotSupported", "")
        case 0x07: DBusFailure("org.bluez.Error.InvalidOffset", "")
        case 0x0D: DBusFailure("org.bluez.Error.InvalidValueLength", "")
        // Application error codes (0x80–0x9F) are in the message. Other codes become Unlikely Error.
        default: DBusFailure("org.bluez.Error.Failed", "0x" + String(code, radix: 16))
        }
    }

    private func notify(_ uuid: BluetoothUUID, _ value: [UInt8]) {
        guard let characteristic = characteristics[uuid] else { return }
        let value = Array(value.prefix(512))
        guard characteristic.sockets.isEmpty else {
            for (device, subscriber) in characteristic.sockets.sorted(by: { $0.key < $1.key }) {
                guard subscriber.pending < Self.pendingLimit else {
                    log("\(device) does not receive values: \(Self.pendingLimit) are pending, and this one is dropped")
                    emit(.notified(uuid))
                    continue
                }
                subscriber.socket.send(value)
                if subscriber.socket.isCongested {
                    characteristics[uuid]?.sockets[device]?.pending += 1
                } else {
                    emit(.notified(uuid))
                }
            }
            return
        }
        if characteristic.isNotifying { updateProperty(uuid, "Value", .bytes(value)) }
        // The value needs no confirmation: there is no subscriber, or bluetoothd has the value.
        emit(.notified(uuid))
    }
}
