import Bluetooth

/// A message to an ESPHome device: its type number and its protocol buffer.
struct ProxyRequest: Hashable {
    let type: Int
    let bytes: [UInt8]

    private init(_ type: Int, _ body: (inout ProtobufFields) -> Void = { _ in }) {
        var fields = ProtobufFields()
        body(&fields)
        (self.type, bytes) = (type, fields.bytes)
    }

    /// API version 1.12, which introduced short UUIDs.
    static let hello = ProxyRequest(1) {
        $0.put(1, Array("waterh".utf8))
        $0.put(2, 1)
        $0.put(3, 12)
    }
    /// Devices before 2026 require this message even without a password.
    static let authentication = ProxyRequest(3)
    static let disconnect = ProxyRequest(5)
    static let disconnected = ProxyRequest(6)
    static let ping = ProxyRequest(7)
    static let pong = ProxyRequest(8)
    static let deviceInfo = ProxyRequest(9)
    /// Subscribes to raw advertisements.
    static let subscribe = ProxyRequest(66) { $0.put(1, 1) }
    static let unsubscribe = ProxyRequest(87)
    static let connectionsFree = ProxyRequest(80)

    /// A request about a peer: `BluetoothDeviceRequestType`.
    enum DeviceRequest: UInt64 {
        case disconnect = 1
        /// Connects without caching the services.
        case connect = 5
    }

    static func device(_ address: BluetoothAddress, _ request: DeviceRequest, addressType: Int = 0) -> ProxyRequest {
        ProxyRequest(68) {
            $0.put(1, address.value)
            $0.put(2, request.rawValue)
            if request == .connect {
                $0.put(3, 1)
                $0.put(4, UInt64(addressType))
            }
        }
    }

    static func services(_ address: BluetoothAddress) -> ProxyRequest { ProxyRequest(70) { $0.put(1, address.value) } }
    static func read(_ address: BluetoothAddress, _ handle: UInt16) -> ProxyRequest { request(73, address, handle) }

    static func write(_ address: BluetoothAddress, _ handle: UInt16, _ value: [UInt8], isAnswered: Bool) -> ProxyRequest
    {
        request(75, address, handle) {
            $0.put(3, isAnswered ? 1 : 0)
            $0.put(4, value)
        }
    }

    static func writeDescriptor(_ address: BluetoothAddress, _ handle: UInt16, _ value: [UInt8]) -> ProxyRequest {
        request(77, address, handle) { $0.put(3, value) }
    }
    static func notify(_ address: BluetoothAddress, _ handle: UInt16) -> ProxyRequest {
        request(78, address, handle) { $0.put(3, 1) }
    }

    private static func request(
        _ type: Int, _ address: BluetoothAddress, _ handle: UInt16, _ more: (inout ProtobufFields) -> Void = { _ in }
    ) -> ProxyRequest {
        ProxyRequest(type) {
            $0.put(1, address.value)
            $0.put(2, UInt64(handle))
            more(&$0)
        }
    }
}
