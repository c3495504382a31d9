import Dispatch

/// A peripheral on an HCI controller over TCP: `hci:HOST:PORT`. It does not use the kernel's Bluetooth.
package final class HCIPeripheralLink: PeripheralLink {
    package let name: String
    package let events: AsyncStream<PeripheralEvent>
    private let driver: PeripheralDriver
    private let transport: HCIPeripheralTransport

    package init(_ place: NetworkEndpoint, instruments: LinkInstruments = LinkInstruments()) {
        name = "hci:\(place)"
        let queue = DispatchQueue(label: "peripheral hci:\(place)")
        driver = PeripheralDriver(queue: queue, instruments: instruments)
        transport = HCIPeripheralTransport(
            StreamController(place, queue: queue, instruments: instruments), driver: driver)
        driver.transport = transport
        events = driver.events.stream()
    }

    deinit { driver.events.finish() }

    package func perform(_ request: PeripheralRequest) { driver.perform(request) }
    package func caughtUp() async { await driver.events.caughtUp() }

    package func open(_ application: GATTApplication) async throws(LinkError) {
        let address = try await transport.ready().get()
        driver.instruments.identify?(address)
        let transport = transport
        try await driver.open(application) { () throws(LinkError) in transport.show(application) }
    }

    /// Stops advertising and disconnects. Returns when the controller has confirmed it.
    package func close() async {
        let transport = transport
        await driver.close { transport.hide() }
        await withCheckedContinuation { done in
            driver.queue.async { transport.leave { done.resume() } }
        }
    }

    package func ownAddress() async -> BluetoothAddress? { await transport.ownAddress() }
}

/// The controller as the transport of the peripheral's driver. The driver's queue protects all state.
private final class HCIPeripheralTransport: PeripheralTransport, @unchecked Sendable {
    private let controller: StreamController
    private let driver: PeripheralDriver
    private var advertisement: AdvertisingBytes?
    private var isVisible = true
    private var connections: [CentralID: UInt16] = [:]
    private var isOver = false
    private let calling: DeadlineTimer
    private static let pause = Duration.seconds(1)

    init(_ controller: StreamController, driver: PeripheralDriver) {
        (self.controller, self.driver) = (controller, driver)
        calling = DeadlineTimer(queue: driver.queue, clock: driver.instruments.clock)
        controller.onEffect = { [weak self] in self?.take($0) }
        controller.onEnd = { [weak self] error in self?.lose(error) }
        calling.onFire = { [weak self] in self?.call() }
    }

    func ready() async -> Result<BluetoothAddress, LinkError> {
        await withCheckedContinuation { continuation in
            driver.queue.async { self.controller.ready { continuation.resume(returning: $0) } }
        }
    }

    func ownAddress() async -> BluetoothAddress? {
        await withCheckedContinuation { continuation in
            driver.queue.async { continuation.resume(returning: self.controller.address) }
        }
    }

    func show(_ application: GATTApplication) {
        advertisement =
            application.advertisement
            ?? AdvertisingBytes(name: application.name, services: application.advertisedServices)
        advertise(isVisible)
    }

    func hide() {
        isOver = true
        if controller.address != nil { controller.handle(.advertise(nil)) }
        for handle in connections.values { controller.handle(.disconnect(handle)) }
    }

    func leave(_ done: @escaping () -> Void) { controller.leave(done) }

    // MARK: PeripheralTransport

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

    private func take(_ effect: HCIHost.Effect) {
        switch effect {
        case .connected(let handle, let address, isCentral: false):
            guard !isOver else { return controller.handle(.disconnect(handle)) }
            let central = CentralID("\(address)#\(handle)")
            connections[central] = handle
            driver.feed(.opened(central))
        case .received(let handle, let bytes):
            if let central = central(handle) { driver.received(bytes, from: central) }
        case .congested(let handle): if let central = central(handle) { driver.feed(.congested(central)) }
        case .drained(let handle): if let central = central(handle) { driver.feed(.drained(central)) }
        case .disconnected(let handle, _):
            // The controller stopped advertising when the connection was established.
            if let central = central(handle) {
                connections[central] = nil
                driver.feed(.closed(central))
            }
            if !isOver, isVisible { advertise(true) }
        default: break
        }
    }

    private func central(_ handle: UInt16) -> CentralID? { connections.first { $0.value == handle }?.key }

    /// The connection to the controller is lost. Reconnect every second.
    private func lose(_ error: LinkError) {
        guard !isOver else { return }
        driver.events.yield(.unavailable(error))
        callLater()
    }

    private func callLater() { calling.set(driver.instruments.clock.now().advanced(by: Self.pause)) }

    private func call() {
        guard !isOver else { return }
        controller.ready { [weak self] outcome in
            guard let self else { return }
            guard case .success = outcome else { return self.callLater() }
            self.driver.events.yield(.available)
            self.advertise(self.isVisible)
        }
    }
}
