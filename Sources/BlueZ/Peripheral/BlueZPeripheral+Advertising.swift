import Bluetooth
import DBus

/// Advertising while no central is connected. Failures (adapter off, suspend, rfkill, bluetoothd busy or full) are
/// retried with increasing pauses, and at once after a change.
extension BlueZPeripheral {
    func updateAdvertisement() {
        advertisingRetry?.cancel()
        advertisingRetry = nil
        guard !isClosed, isPublished, !isChangingAdvertisement else { return }
        Task {
            do throws(LinkError) {
                try await changeAdvertisement()
                advertisingSucceeded()
            } catch {
                advertisingFailed(error)
            }
        }
    }

    /// Registers or unregisters the advertisement until the state is as requested.
    func changeAdvertisement() async throws(LinkError) {
        guard !isChangingAdvertisement else { return }
        isChangingAdvertisement = true
        defer { isChangingAdvertisement = false }
        while !isClosed, let adapter, isPublished, isAdvertising != (wantsAdvertisement && centrals.isEmpty) {
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
            isAdvertising = show
        }
    }

    func advertisementReleased() {
        isAdvertising = false
        updateAdvertisement()
    }

    /// Records that the advertising state is as requested. Reports it if the previous attempt failed.
    /// - Parameter always: whether to report the state even without a previous failure.
    func advertisingSucceeded(_ always: Bool = false) {
        // Without power, no device can see a registered advertisement.
        guard hasPower else { return }
        let was = advertisingFailure
        advertisingFailure = nil
        advertisingBackoff.reset()
        if was != nil || always { emit(.available) }
    }

    private var hasPower: Bool {
        adapter.flatMap { property($0, BlueZName.adapter, "Powered")?.bool } == true
    }

    static let withoutPower = LinkError(.poweredOff, "The adapter was switched off", isTransient: true)

    private func advertisingFailed(_ failure: LinkError) {
        // bluetoothd or the adapter is gone. Another handler reports that and publishes again later.
        guard isPublished, !isClosed else { return }
        let error = hasPower ? failure : Self.withoutPower
        if advertisingFailure?.sentence != error.sentence || advertisingFailure?.cause != error.cause {
            log("not advertising: \(error); retrying")
            emit(.unavailable(error))
        }
        advertisingFailure = error
        let wait = advertisingBackoff.next(chance: Self.noChance)
        advertisingRetry = Task {
            guard (try? await Task.sleep(for: wait)) != nil else { return }
            updateAdvertisement()
        }
    }
}
