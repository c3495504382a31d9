import Bluetooth
import DBus

/// Being seen: the advertisement is shown while nobody is connected, and whatever keeps it from that is met again and
/// again (a switched-off adapter, a suspended machine, rfkill, a bluetoothd that is busy or full).
extension BlueZPeripheral {
    /// Shows or withdraws it, as wanted; where that fails, again later and later, and at once when something changes.
    func updateAdvertisement() {
        advertisingRetry?.cancel()
        advertisingRetry = nil
        guard !isClosed, isPublished, !isChangingAdvertisement else { return }
        Task {
            do throws(LinkError) {
                try await changeAdvertisement()
                isOnAir()
            } catch {
                isOffAir(error)
            }
        }
    }

    /// Registers or withdraws it, until it is as wanted.
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
                    show ? "The advertisement could not be registered" : "The advertisement could not be withdrawn")
            } catch {
                // Registered, or gone, already: as wanted.
                guard error.cause?.contains(show ? "AlreadyExists" : "DoesNotExist") == true else { throw error }
            }
            isAdvertising = show
        }
    }

    /// bluetoothd gave it up by itself.
    func advertisementReleased() {
        isAdvertising = false
        updateAdvertisement()
    }

    /// It is as wanted. Says so after it was not.
    ///
    /// - Parameter always: also where nothing was told before.
    func isOnAir(_ always: Bool = false) {
        // Withdrawn as wanted, or held by bluetoothd: without power nobody sees it.
        guard hasPower else { return }
        let was = advertisingFailure
        advertisingFailure = nil
        advertisingBackoff.reset()
        if was != nil || always { emit(.available) }
    }

    private var hasPower: Bool {
        guard let adapter else { return false }
        return service.assumeIsolated { $0.objects[adapter, BlueZName.adapter]?["Powered"]?.bool == true }
    }

    static let withoutPower = LinkError(.poweredOff, "The adapter was switched off", isTransient: true)

    private func isOffAir(_ failure: LinkError) {
        // bluetoothd or the adapter has gone: that is told, and all is published again when it is back.
        guard isPublished, !isClosed else { return }
        let error = hasPower ? failure : Self.withoutPower
        if advertisingFailure?.sentence != error.sentence || advertisingFailure?.cause != error.cause {
            log("not to be seen: \(error); tried again")
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
