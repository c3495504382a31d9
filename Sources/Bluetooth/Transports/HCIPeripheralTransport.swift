import Dispatch

extension ATTPeripheralLink {
    /// A peripheral on an HCI controller over TCP: `hci:HOST:PORT`. It does not use the kernel's Bluetooth.
    package convenience init(hci endpoint: NetworkEndpoint, instruments: LinkInstruments = LinkInstruments()) {
        let queue = DispatchQueue(label: "peripheral hci:\(endpoint)")
        self.init(
            name: "hci:\(endpoint)", queue: queue, instruments: instruments,
            transport: HCIPeripheralTransport(
                HCIController(endpoint, queue: queue, instruments: instruments), queue: queue,
                clock: instruments.clock)
        )
    }
}

/// A controller in the peripheral role. The queue protects all state.
private final class HCIPeripheralTransport: PeripheralTransport, @unchecked Sendable {
    private let controller: HCIController
    weak var peripheral: ATTPeripheralLink?
    private var advertisement: AdvertisingBytes?
    private var isVisible = true
    private var connections: [CentralID: UInt16] = [:]
    private var isClosed = false
    private let clock: MonotonicClock
    private let reconnectTimer: DeadlineTimer
    private static let reconnectInterval = Duration.seconds(1)

    init(_ controller: HCIController, queue: DispatchQueue, clock: MonotonicClock) {
        (self.controller, self.clock) = (controller, clock)
        reconnectTimer = DeadlineTimer(queue: queue, clock: clock)
        controller.onEffect = { [weak self] in self?.handle($0) }
        controller.onEnd = { [weak self] error in self?.connectionLost(error) }
        reconnectTimer.onFire = { [weak self] in self?.reconnect() }
    }

    // MARK: PeripheralTransport

    var address: BluetoothAddress? { controller.address }

    func prepare(_ completion: @escaping (LinkError?) -> Void) {
        controller.whenReady(completion)
    }

    func listen(_ application: GATTApplication) {
        advertisement = application.advertised
        advertise(isVisible)
    }

    func stopListening() {
        isClosed = true
        if controller.address != nil { controller.handle(.advertise(nil)) }
        for handle in connections.values { controller.handle(.disconnect(handle)) }
    }

    func shutDown(_ completion: @escaping () -> Void) { controller.shutDown(completion) }

    func send(_ bytes: [UInt8], to central: CentralID) {
        if let handle = connections[central] { controller.handle(.send(connection: handle, bytes)) }
    }

    func close(_ central: CentralID) {
        if let handle = connections.removeValue(forKey: central) { controller.handle(.disconnect(handle)) }
    }

    func advertise(_ visible: Bool) {
        isVisible = visible
        guard controller.address != nil, let advertisement else { return }
        controller.handle(.advertise(visible ? advertisement : nil))
    }

    /// The controller has its own flow control by credits.
    func setReading(fromCentrals isReading: Bool) {}

    // MARK: Effects of the HCI host

    private func handle(_ effect: HCIHost.Effect) {
        switch effect {
        case .connected(let handle, let address, isCentral: false):
            guard !isClosed else { return controller.handle(.disconnect(handle)) }
            let central = CentralID("\(address)#\(handle)")
            connections[central] = handle
            peripheral?.feed(.opened(central))
        case .received(let handle, let bytes):
            if let central = central(handle) { peripheral?.received(bytes, from: central) }
        case .congested(let handle): if let central = central(handle) { peripheral?.feed(.congested(central)) }
        case .drained(let handle): if let central = central(handle) { peripheral?.feed(.drained(central)) }
        case .disconnected(let handle, _):
            // The controller stopped advertising when the connection was established.
            if let central = central(handle) {
                connections[central] = nil
                peripheral?.feed(.closed(central))
            }
            if !isClosed, isVisible { advertise(true) }
        default: break
        }
    }

    private func central(_ handle: UInt16) -> CentralID? { connections.first { $0.value == handle }?.key }

    /// The connection to the controller is lost. Reconnect every second.
    private func connectionLost(_ error: LinkError) {
        guard !isClosed else { return }
        peripheral?.report(.unavailable(error))
        scheduleReconnect()
    }

    private func scheduleReconnect() { reconnectTimer.set(clock.now().advanced(by: Self.reconnectInterval)) }

    private func reconnect() {
        guard !isClosed else { return }
        controller.whenReady { [weak self] error in
            guard let self else { return }
            guard error == nil else { return self.scheduleReconnect() }
            self.peripheral?.report(.available)
            self.advertise(self.isVisible)
        }
    }
}
