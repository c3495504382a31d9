import Bluetooth
import DBus
import Utilities

/// Publishing, and advertising while no central is connected. Failures (adapter off, suspend, rfkill, bluetoothd busy
/// or full) are retried with increasing pauses, and at once after a change.
extension BlueZPeripheralLink {
    static let poweredOff = LinkError(.poweredOff, "The adapter was switched off", isTransient: true)

    private var hasPower: Bool {
        adapter.flatMap { property($0, BlueZName.adapter, "Powered")?.bool } == true
    }

    /// Brings bluetoothd into the requested state: the application is published, and advertised if requested.
    func update() {
        retry?.cancel()
        retry = nil
        guard isOpen, !isUpdating, !isClosed, let application else { return }
        isUpdating = true
        Task {
            do throws(LinkError) {
                if !isPublished {
                    try await service.start()
                    try await publish(application)
                }
                try await changeAdvertisement()
                succeeded()
            } catch {
                failed(error)
            }
            isUpdating = false
        }
    }

    /// Registers or unregisters the advertisement until the state is as requested.
    func changeAdvertisement() async throws(LinkError) {
        while !isClosed, let adapter, isPublished, isAdvertising != (isAdvertisingRequested && centrals.isEmpty) {
            let show = !isAdvertising
            let path = DBusValue.objectPath(PeripheralPaths.advertisement)
            do throws(LinkError) {
                _ = try await service.call(
                    adapter, BlueZName.advertisingManager, show ? "RegisterAdvertisement" : "UnregisterAdvertisement",
                    show ? [path, .properties([:])] : [path], limit: .seconds(10),
                    show ? "Cannot register the advertisement" : "Cannot unregister the advertisement")
            } catch {
                // The advertisement is already registered, or already removed.
                guard error.cause?.contains(show ? "AlreadyExists" : "DoesNotExist") == true else { throw error }
            }
            // bluetoothd might have ended since its reply.
            guard isPublished else { throw BlueZService.notRunning }
            isAdvertising = show
        }
    }

    func advertisementReleased() {
        isAdvertising = false
        update()
    }

    private func succeeded() {
        // Without power, no device can see a registered advertisement.
        guard isPublished, hasPower else { return }
        backoff.reset()
        guard failure != nil else { return }
        failure = nil
        emit(.available)
    }

    private func failed(_ error: LinkError) {
        guard !isClosed else { return }
        if isPublished {
            let error = hasPower ? error : Self.poweredOff
            if report(error) { log("not advertising: \(error); retrying") }
        } else {
            log("not published yet: \(error)")
        }
        // No jitter, because only this machine uses its bluetoothd.
        let pause = backoff.next(jitter: 1)
        retry = Task { [weak self] in
            guard (try? await Task.sleep(for: pause)) != nil else { return }
            await self?.update()
        }
    }

    /// Reports an error unless it was the last one. Returns whether it is new.
    @discardableResult
    func report(_ error: LinkError) -> Bool {
        guard failure?.sentence != error.sentence || failure?.cause != error.cause else { return false }
        failure = error
        emit(.unavailable(error))
        return true
    }
}
